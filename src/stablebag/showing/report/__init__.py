"""The report: one HTML file that opens offline, with what was measured, what is proved, and how to read it."""

from stablebag.showing.report.page import write

__all__ = ["write"]
