"""Measures: what a release loses and what it reveals."""
