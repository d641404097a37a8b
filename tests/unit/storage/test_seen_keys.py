"""Keys that were seen before."""
