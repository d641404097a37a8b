"""Split requests into those to train on and those held out, so that adding requests holds out no training request."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from skillopt.tasks import digest_of
from skillopt.triggers.queries import Query
from skillopt.triggers.wording import are_near_copies, request_words

__all__ = ["split_queries"]

_TRAIN: Final = frozenset({"train", "training"})
_HELD_OUT: Final = frozenset({"val", "validation", "test", "held-out", "held_out", "holdout", "dev"})


def split_queries(queries: Sequence[Query]) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
    """Split requests into those to train on and those held out, near copies on the same side.

    A group of near copies is trained on where a `split` that its authors gave says so, else held out where one says
    that, else trained on where the hash of one of its requests says so. So a request that is added never moves
    another one from training to held out, where it would be no test.
    """
    held_out = {one.key for group in _groups(queries) if _is_held_out(group) for one in group}
    return (
        tuple(one for one in queries if one.key not in held_out),
        tuple(one for one in queries if one.key in held_out),
    )


def _is_held_out(group: Iterable[Query]) -> bool:
    group = tuple(group)
    given = {one.split for one in group}
    if given & _TRAIN:
        return False
    return bool(given & _HELD_OUT) or not any(_drawn_for_training(one.key) for one in group)


def _drawn_for_training(key: str) -> bool:
    return int(digest_of("trigger split", key)[-1], 16) % 2 == 0


def _groups(queries: Sequence[Query]) -> Iterator[tuple[Query, ...]]:
    """Yield groups of requests that are near copies of each other, chains of them included."""
    words = [frozenset(request_words(one.text)) for one in queries]
    group_of = list(range(len(queries)))
    for at in range(len(queries)):
        for before in range(at):
            if group_of[at] != group_of[before] and words[at] and are_near_copies(words[at], words[before]):
                old, new = group_of[at], group_of[before]
                group_of = [new if number == old else number for number in group_of]
    for number in dict.fromkeys(group_of):
        yield tuple(one for one, own in zip(queries, group_of, strict=True) if own == number)
