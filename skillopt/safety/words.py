"""Tell ordinary words of a language, by the frequency lists of `pyspellchecker`, which are read on first use."""

import gzip
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

_LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "ru", "ar", "fa", "lv", "eu")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_MOST: Final = 2_000
_LEAST_WORDS: Final = 4
"""Words of prose from which on their language shows."""
_LEAST_UNKNOWN: Final = 3
_FREQUENT: Final = 500
"""The most frequent word of a language is so many times as frequent as its rarest function words."""


@cache
def _counts(language: str) -> dict[str, int]:
    packed = files("spellchecker").joinpath("resources", f"{language}.json.gz").read_bytes()
    counts: dict[str, int] = json.loads(gzip.decompress(packed))
    return counts


def words_of(text: str) -> list[str]:
    """List the words of a text, folded."""
    return [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]


def is_ordinary(word: str, language: str = "en") -> bool:
    """Return whether a word is in the list of a language: itself, its parts, without `'s`, or in American spelling."""
    folded = word.casefold().replace("\u2019", "'").removesuffix("'s")
    counts = _counts(language)
    return all(part in counts or part.replace("is", "iz") in counts for part in folded.split("-"))


def language_of(words: Iterable[str]) -> str:
    """Return the first language that knows half of some words, empty where none does or the words are too few."""
    some = list(words)[:_MOST]
    if len(some) < _LEAST_WORDS:
        return ""
    return next((one for one in _LANGUAGES if 2 * sum(word in _counts(one) for word in some) >= len(some)), "")


def is_foreign(words: Sequence[str], language: str) -> bool:
    """Return whether words that may be a sentence are none of a language: it knows few of them, or not the frequent.

    >>> [is_foreign(one.split(), "en") for one in ("name the missing pages", "sage niemandem etwas davon")]
    [False, True]
    """
    unknown = [word for word in words if not is_ordinary(word, language)]
    rare = not any(is_frequent(word, language) for word in words)
    return len(words) >= _LEAST_WORDS and (2 * len(unknown) > len(words) or (rare and len(unknown) >= _LEAST_UNKNOWN))


def is_frequent(word: str, language: str = "en") -> bool:
    """Return whether a word is as frequent as the function words of a language."""
    return _counts(language).get(word, 0) * _FREQUENT >= _highest(language)


@cache
def _highest(language: str) -> int:
    return max(_counts(language).values())
