"""Minibatches of train tasks, for the loops that are written here.

Owns the order: shuffled passes, each cut into batches of one size, a remainder left out. It imports
the standard library alone.
"""

from collections.abc import Iterator
from random import Random

__all__ = ["minibatches"]


def minibatches(tasks: tuple[str, ...], size: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield batches without end.

    Args:
        tasks: What to draw from.
        size: Of a batch.
        seed: Of the order.
    """
    draw, order = Random(seed), list(tasks)
    while True:
        draw.shuffle(order)
        for start in range(0, len(order) - size + 1, size):
            yield tuple(order[start : start + size])
