"""Tell ordinary words of a language, by the frequency lists of `pyspellchecker`, which are read on first use."""

import gzip
import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final

__all__ = ["is_ordinary", "language_of", "words_of"]

_LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "ru", "ar", "fa", "lv", "eu")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_MOST: Final = 2_000
_SHARE: Final = 0.5


@cache
def _known(language: str) -> frozenset[str]:
    packed = files("spellchecker").joinpath("resources", f"{language}.json.gz").read_bytes()
    return frozenset(json.loads(gzip.decompress(packed)))


def words_of(text: str) -> list[str]:
    """List the words of a text, folded."""
    return [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]


def is_ordinary(word: str, language: str = "en") -> bool:
    """Return whether a word is in the list of a language, itself or without the ending of a possessive."""
    folded = word.casefold().replace("\u2019", "'").removesuffix("'s")
    return folded in _known(language)


def language_of(words: Iterable[str]) -> str:
    """Return the language that knows the most of some words, empty where none knows half of them."""
    some = list(words)[:_MOST]
    for language in _LANGUAGES:
        if sum(word in _known(language) for word in some) >= _SHARE * len(some):
            return language
    return ""
