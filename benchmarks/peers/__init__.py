"""Other optimizers in the worlds of benchmarks.landscapes: same tasks, same proposer, same budget."""
