"""What to do with it: intervals."""
