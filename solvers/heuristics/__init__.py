"""One module per published heuristic; each registers its methods when imported."""
