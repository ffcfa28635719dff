"""Solvers for learners whose structure is known, behind one interface."""
