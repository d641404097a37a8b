"""Read a text as a person takes it, and find what is disguised: letters of another script, and encoded text.

Entities, escapes, full-width and mathematical letters and hidden characters are resolved. Letters that look Latin are
not exchanged by a table: a word that mixes them with Latin ones is found itself.
"""

import re
import unicodedata
from collections.abc import Iterator
from html import unescape
from typing import Final

from skillopt.safety.hidden_unicode import without_hidden
from skillopt.safety.text_classes import LintClass, TextMatch

_NUMBERED: Final = re.compile(r"&#0*(?P<digits>[0-9]++)")
_MOST_DIGITS: Final = 7  # of a character's number

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
_BLOB: Final = re.compile(r"(?<![\w+/=.-])[A-Za-z0-9+/_-]{28,}={0,2}(?![\w+/=])")
_HEX: Final = re.compile(r"(?<![\w#])[0-9a-fA-F]{32,}(?!\w)")
_LETTER_CASES: Final = re.compile(r"(?=[^a-z]{0,400}[a-z])(?=[^A-Z]{0,400}[A-Z])(?=[^0-9]{0,400}[0-9])")
_BYTES: Final = re.compile(  # characters written as numbers or signs
    r"(?:\\x[0-9a-f]{2}[ \t,;|]{0,3}){6}|(?:\\u[0-9a-f]{4}[ \t,;|]{0,3}){6}|(?:\\[0-3][0-7]{2}){6}|(?:%[0-9a-f]{2}){6}"
    r"|(?:&(?:amp;)?#x?[0-9a-f]{2,7};[ \t]?){3}|&(?:amp|#38|#x26);(?:#\d|#x[\da-f]|[a-z]{2,8};)"
    r"|(?:\b(?:0x)?[0-9a-f]{2}[ ,:]{1,2}){12}|(?:\b[01]{8}[ ,]){6}|(?:\b\d{2,3}[ ,]{1,2}){24}"
    r"|(?:[.-]{1,5}[ /]{1,3}){14}|\b(?-i:[A-Z2-7]){32,}=*(?![A-Za-z])|\bfrom(?:CharCode|CodePoint)\b"
    r"|(?:\bchr\(\d{1,3}\)[ \t+.]{1,4}){3}",
    re.IGNORECASE,
)


def as_read(text: str) -> str:
    r"""Resolve entities, escapes, compatibility letters and hidden characters of a text; its length may differ."""
    for _ in range(2):  # `&amp;#58;` is one more step away; a page that shows it is read by a model all the same
        text = without_entities(text) if "&" in text else text
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _WIDE_DOT.sub(".", without_hidden(text.translate(_FOLD))))
    return _ESCAPE.sub("", text.translate(_FOLD))


def without_entities(text: str) -> str:
    """Resolve the entities of a text once, whatever numbers they have."""
    return unescape(_NUMBERED.sub(_short_number, text))


def scripts_of(word: str) -> set[str]:
    """Return the scripts of a word's letters, as Unicode names them; small capitals are one of their own."""
    if word.isascii():
        return {"LATIN"} if any(map(str.isalpha, word)) else set()
    names = (unicodedata.name(letter, "") for letter in word if letter.isalpha())
    return {"SMALL CAPITAL" if " SMALL CAPITAL " in name else name.partition(" ")[0] for name in names}


def find_mixed_letters(line: str) -> Iterator[TextMatch]:
    """Find words with letters of two scripts that look alike: they pass for a name or host that the skill has."""
    for match in _WORD.finditer(line) if not line.isascii() else ():
        scripts = scripts_of(match[0])
        if ("LATIN" in scripts and scripts & _ALIKE) or "SMALL CAPITAL" in scripts:
            yield TextMatch(LintClass.ENCODED_TEXT, match[0], 0, match[0], "a word with letters of two scripts:")


def _short_number(reference: re.Match[str]) -> str:
    """Leave out leading zeros, and numbers that no character has: Python reads only numbers of some length."""
    kept = reference["digits"]
    return f"&#{kept}" if len(kept) <= _MOST_DIGITS else "\ufffd"


def find_encoded_text(line: str) -> Iterator[TextMatch]:
    """Find runs of encoded text on one line."""
    blobs = (
        blob for blob in _BLOB.findall(line) if "/" not in blob[:30].replace("//", "") and _LETTER_CASES.match(blob)
    )
    for text in (*blobs, *_HEX.findall(line), *(match[0] for match in _BYTES.finditer(line))):
        yield TextMatch(LintClass.ENCODED_TEXT, text, 0, text, "text that looks encoded")
