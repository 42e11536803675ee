"""Compiled inner loops shared by the methods."""
