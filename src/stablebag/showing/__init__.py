"""For people: displays, studies, reports."""
