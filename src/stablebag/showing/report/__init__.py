"""The report: one HTML file that opens offline, with the measurements, the guarantees, and how to read them."""

from stablebag.showing.report.page import write

__all__ = ["write"]
