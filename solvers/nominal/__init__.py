"""Nominal data (paper 000): partitioning by column generation, aggregation, and both together."""
