"""Group requests that are nearly the same by the words that they share."""

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Final

from skillopt.tasks import digest_of

_WORD: Final = re.compile(r"[^\W_]+")
_NUMBER: Final = re.compile(r"0x[0-9a-fA-F]+|\d+")


def near_copies(texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Group texts that are nearly the same; what is near to a member of a group is of it.

    >>> near_copies(["Clean the vendor table", "write a poem on rain", "clean the Vendor table, please"])
    ((0, 2), (1,))
    """
    words, group = [_words(text) for text in texts], list(range(len(texts)))
    for one, other in combinations(range(len(texts)), 2):
        if group[one] != group[other] and _are_alike(words[one], words[other]):
            first, second = sorted((group[one], group[other]))
            group = [first if at == second else at for at in group]
    return tuple(tuple(at for at, of in enumerate(group) if of == first) for first in dict.fromkeys(group))


def word_digests(text: str) -> frozenset[str]:
    """Write the words of a text so that it can be compared with others, and nobody reads it."""
    return frozenset(digest_of(word)[:12] for word in _words(text))


def is_near_copy(text: str, others: Collection[AbstractSet[str]]) -> bool:
    """Return whether a text is nearly the same as one of those whose word digests are given."""
    own = word_digests(text)
    return any(_are_alike(own, other) for other in others)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_NUMBER.sub("0", text.casefold())))


def _are_alike(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    shared = len(one & other)
    union = len(one) + len(other) - shared
    return bool(shared) and shared / union >= 0.6  # noqa: PLR2004 - the share of words that near copies have in common
