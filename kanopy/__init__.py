"""k-anonymity by optimisation: every answer comes with a bound."""
