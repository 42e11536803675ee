"""Optimisation solvers behind one small protocol, one adapter a file."""
