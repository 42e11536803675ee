"""Branch-and-price: set partitioning over clusters, priced exactly, for any cluster cost."""
