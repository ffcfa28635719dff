"""What people look at: displays, studies and reports."""
