"""Read a text as a person takes it, and find words with letters of two scripts.

Entities, escapes, full-width and mathematical letters and hidden characters are resolved. Letters that look Latin are
not exchanged by a table: a word that mixes them with Latin ones is found itself. Encoded text is not decoded.
"""

import re
import unicodedata
from collections.abc import Iterator
from html import unescape
from typing import Final

from skillopt.safety.hidden_unicode import without_hidden

_ZEROS: Final = re.compile(r"(?<=&#)0+(?=[0-9])")
_NO_CHARACTER: Final = re.compile(r"&#[0-9]{8,};?")  # no character has such a number, and Python reads no longer ones

_ESCAPE: Final = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_WIDE_DOT: Final = re.compile("(?<=[0-9A-Za-z])[\u3002\uff61](?=[0-9A-Za-z])")
_SIGNS: Final = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\u02d7\u2796", "-"),
    **dict.fromkeys("\u1735\u2041\u2215\u2044\u2571\u27cb\u29f8\u31d3", "/"),
    **dict.fromkeys("\u205a\u02f8\ua789\u2236\u02d0\ua4fd", ":"),
    **dict.fromkeys("\ua60e\ua4f8", "."),
}
_FOLD: Final = str.maketrans(_SIGNS)
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_ALIKE: Final = frozenset(("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"))


def as_read(text: str) -> str:
    r"""Resolve entities, escapes, compatibility letters and hidden characters of a text; its length may differ."""
    for _ in range(2):  # `&amp;#58;` is one more step away; a page that shows it is read by a model all the same
        text = without_entities(text) if "&" in text else text
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _WIDE_DOT.sub(".", without_hidden(text.translate(_FOLD))))
    return _ESCAPE.sub("", text.translate(_FOLD))


def without_entities(text: str) -> str:
    """Resolve the entities of a text once, whatever numbers they have."""
    return unescape(_NO_CHARACTER.sub("\ufffd", _ZEROS.sub("", text)))


def find_mixed_words(line: str) -> Iterator[str]:
    """Find words with letters of two scripts that look alike: they pass for a name or host that the skill has."""
    for match in _WORD.finditer(line) if not line.isascii() else ():
        names = [unicodedata.name(letter, "") for letter in match[0]]
        scripts = {name.partition(" ")[0] for name in names}
        if ("LATIN" in scripts and scripts & _ALIKE) or any(" SMALL CAPITAL " in name for name in names):
            yield match[0]
