"""Whether two rules say the same in other words, by the words that they share; deterministic, and in English only.

Words count by stem and by a table of words that rules use for one another. Measured with `tools/measure_refusals.py`.
"""

import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

_LEAST_SHARED: Final = 0.33
_LEAST_OF_ONE: Final = 0.5
"""Share of words in common from which two rules are alike, and where only one word is in common.

94% of 31 pairs of wordings of the demo's rules are alike by them, and 9% of 780 pairs of its different rules; a least
share of 0.3 gives 94% and 10%, one of 0.4 gives 87% and 6%.
"""
_STEM: Final = 7
_LEAST_PREFIX: Final = 5

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019/-][^\W_]+)*|[!?%$€&]")
_ENDINGS: Final = re.compile(
    r"(?<=\w{3})(?:ations?|[iy][sz]ing|ings?|i[sz]ed|ies|i[sz]e|ically|ical|ly|ed|e?rs?|es|[sey])$"
)
_PHRASES: Final = {
    "leave out": "omit",
    "left out": "omit",
    "full stop": "period",
    "pull request": "pull-request",
    "merge request": "pull-request",
}


def is_reworded(one: str, other: str) -> bool:
    """Return whether two rules are alike in what they say.

    >>> is_reworded("Write e-mail addresses in lower case.", "Lowercase every email address.")
    True
    >>> is_reworded("Write e-mail addresses in lower case.", "Write country codes in upper case.")
    False
    """
    sides = _meaning(one), _meaning(other)
    fewer, more = sorted(map(len, sides))
    shared = sum(any(_is_same(word, theirs) for theirs in sides[1]) for word in sides[0])
    if not fewer:
        return False
    share = (shared / fewer + 2 * shared / (fewer + more)) / 2
    return share >= (_LEAST_OF_ONE if shared == 1 else _LEAST_SHARED)


@lru_cache(maxsize=4096)
def _meaning(text: str) -> frozenset[str]:
    text = text.casefold()
    for phrase, word in _PHRASES.items():
        text = text.replace(phrase, word)
    (frame, known), found = _words(), set[str]()
    for word in _WORD.findall(text):
        whole = "/" in word or _stem(word) in known
        parts = [word] if whole else re.split(r"['\u2019-]", word)
        kept = (part for part in parts if part not in frame and (len(part) > 1 or not part.isalpha()))
        found.update(known.get(_stem(part), _stem(part)) for part in kept if part)
    return frozenset(found)


@cache
def _words() -> tuple[frozenset[str], dict[str, str]]:
    """Read the words that count for nothing, and map the stem of each word that has others like it to the first one."""
    head, _, rows = files("skillopt.safety").joinpath("rewording.txt").read_text(encoding="utf-8").partition("---\n")
    groups = [row.split() for row in rows.splitlines()]
    frame = frozenset(head.partition("\n\n")[2].split())
    return frame, {_stem(word): f"={group[0]}" for group in groups for word in reversed(group)}


def _stem(word: str) -> str:
    return _ENDINGS.sub("", word)[:_STEM]


def _is_same(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= _LEAST_PREFIX and long.startswith(short))
