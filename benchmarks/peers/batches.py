"""Minibatches of train tasks, for the loops that are written here: it imports the standard library alone.

Shuffled passes, each cut into batches of one size; a remainder is left out.
"""

from collections.abc import Iterator
from random import Random

__all__ = ["minibatches"]


def minibatches(tasks: tuple[str, ...], size: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield batches without end; where there are fewer tasks than a batch has, all of them are one.

    Args:
        tasks: What to draw from; without any there is no batch.
        size: Of a batch, ≥ 1.
        seed: Of the order.
    """
    draw, order = Random(seed), list(tasks)
    size = min(size, len(order))
    while order:
        draw.shuffle(order)
        for start in range(0, len(order) - size + 1, size):
            yield tuple(order[start : start + size])
