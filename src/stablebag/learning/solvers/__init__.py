"""Learners whose structure is known, behind one interface."""
