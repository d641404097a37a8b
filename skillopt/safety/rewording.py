"""Whether two rules say the same in other words, by the words that they share; no list of words, no synonyms."""

import re
from functools import lru_cache
from typing import Final

_LEAST_SHARED: Final = 0.34
"""Share of words in common from which two rules are alike.

69% of 80 written pairs of wordings and 71% of the demo's 31 are alike by it, and 12% and 4% of pairs of other rules
(`tools/measure_refusals.py`); 0.3 gives 78%, 84%, 18% and 8%, 0.4 gives 61%, 65%, 9% and 2%.
"""
_LEAST_OF_ONE: Final = 0.5
"""The share where only one word is in common, as that word may be any."""
_STEM: Final = 4
"""First letters by which a word counts: with 5 of them 64% of the pairs are alike."""
_LEAST_WORD: Final = 3
"""Letters of a word that counts: shorter ones are in every rule."""

_WORD: Final = re.compile(r"[^\W_]+")


def is_reworded(one: str, other: str) -> bool:
    """Return whether two rules are alike in what they say.

    >>> is_reworded("Write e-mail addresses in lower case.", "Put e-mail addresses in lower-case letters.")
    True
    >>> is_reworded("Write e-mail addresses in lower case.", "Sort rows by date.")
    False
    """
    sides = _stems(one), _stems(other)
    fewer, more = sorted(map(len, sides))
    shared = len(sides[0] & sides[1])
    share = (shared / fewer + 2 * shared / (fewer + more)) / 2 if fewer else 0.0
    return share >= (_LEAST_OF_ONE if shared == 1 else _LEAST_SHARED)


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())
    return frozenset(word[:_STEM] for word in words if len(word) >= _LEAST_WORD or word.isdigit())
