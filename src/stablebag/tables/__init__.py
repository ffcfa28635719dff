"""Rows in files: Parquet tables that do not fit into memory, and text files with mixed columns."""
