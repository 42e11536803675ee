"""Data: microdata tables, frequency tables, generators, loaders and samplers."""
