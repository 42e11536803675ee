"""Declarative optimisation models of the four papers."""
