"""Train a skill document the way you train weights: rollouts, bounded edits, a gate, versions."""

__all__ = ["__version__"]

__version__ = "0.1.0"
