"""Frequency vectors against control tables: the machinery of the exact methods of 000."""
