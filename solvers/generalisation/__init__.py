"""Heuristics of paper 003 and its baselines, for the cost ``range``."""
