"""Words of requests and descriptions: which requests are the same, which are near copies, what was copied."""

import re
from collections.abc import Iterator, Sequence
from typing import Final
from unicodedata import normalize

__all__ = ["are_near_copies", "find_copied_words", "request_key", "request_words"]

_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
"""Characters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana and Han."""

_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_ONE_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")
_NEAR: Final = 0.6
"""Share of all words of two requests that both have, from which on they count as copies of each other."""

_COPIED: Final = 6.0
"""Words in a row of a request that a description may not repeat: it would be about that request only."""

_SHORT: Final = 3.0
"""Words from which on a shorter request may not be repeated whole; a name or a term of two words is no copy."""


def request_words(text: str) -> tuple[str, ...]:
    """Split a text into words, whatever its case, its punctuation and the form of its characters.

    >>> request_words("Merge the P.D.F-files!")
    ('merge', 'the', 'p', 'd', 'f', 'files')

    Where a script puts no spaces between words, each character is one.
    """
    return tuple(_WORD.findall(normalize("NFKC", text).casefold()))


def request_key(text: str) -> str:
    """Identify a request by its words; one without any by its characters."""
    return " ".join(request_words(text)) or " ".join(normalize("NFKC", text).casefold().split())


def are_near_copies(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two requests are near copies of each other, by their words."""
    return len(one & other) >= _NEAR * len(one | other)


def find_copied_words(text: str, before: str, request: str) -> str:
    """Return words in a row that a description took from a request; empty for none.

    Six in a row are a copy, and all of a request of three to five. Two characters of a script without spaces count
    as a word. What the description before says as well was not taken.
    """
    said, known = (f" {' '.join(request_words(one))} " for one in (text, before))
    for run in _runs(request_words(request)):
        words = f" {' '.join(run)} "
        if words in said and words not in known:
            return words.strip()
    return ""


def _runs(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the runs of a request that count as a copy: the shortest from each word on, or all of a short one."""
    weights = [0.5 if _ONE_UNSPACED.fullmatch(word) else 1.0 for word in words]
    if _SHORT <= sum(weights) < _COPIED:
        yield words
    for start in range(len(words)):
        total = 0.0
        for end in range(start, len(words)):
            total += weights[end]
            if total >= _COPIED:
                yield words[start : end + 1]
                break
