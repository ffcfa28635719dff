"""Tables whose rows are not in memory, read by portions of bags."""
