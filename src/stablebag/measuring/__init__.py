"""What leaving a row out does."""
