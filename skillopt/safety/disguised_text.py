"""Read a text as a person takes it: find invisible characters, decode what they carry, and resolve disguised ones.

Real emoji sequences, joiners that Arabic and Indic spelling needs, and a byte order mark at the start of a text are
not hidden text. Entities, escapes, full-width and mathematical letters are resolved; encoded text is not decoded.
Letters that look Latin are not exchanged by a table: a word that mixes them with Latin ones is found itself.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Final

_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2028\u2029\u2800\u3164\uffa0\ufffc\U0001d159"
_CANDIDATE = re.compile(
    # Control characters, and all beyond Latin but the letters and marks that texts are full of.
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad]"
    r"|[^\x00-\u02ff\u0400-\u052f\u2013-\u2026\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]"
)
_NUMBER_SIGNS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
# Format characters that are drawn: number signs of Arabic, Syriac and Kaithi.

_FLAG = re.compile(
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)  # of England, Scotland and Wales: no other sequences of tag characters are in use
_VIRAMA = 9  # The combining class of the signs that join Indic letters.
_ZWNJ, _ZWJ = "\u200c", "\u200d"
_TEXT_STYLE, _EMOJI_STYLE = "\ufe0e", "\ufe0f"
_SELECTOR = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef\u180b-\u180f]")
_STYLED = frozenset("\u203c\u2049\u2139\u2122\u3030\u303d")
_KEYCAP, _KEYCAP_BASES = "\u20e3", frozenset("0123456789#*")


@dataclass(frozen=True, slots=True)
class HiddenRun:
    """A longest run of hidden characters: where it starts and its characters."""

    start: int
    text: str

    @property
    def description(self) -> str:
        """Name the characters and say what they spell, when they spell something."""
        names = [f"U+{ord(one):04X} {unicodedata.name(one, 'without a name')}" for one in dict.fromkeys(self.text)]
        more, decoded = f" and {len(names) - 2} more" if names[2:] else "", _decode(self.text)
        return f"{', '.join(names[:2])}{more}" + (f", which spells {decoded[:200]!r}" if decoded else "")


def hidden_runs(text: str) -> Iterator[HiddenRun]:
    """Find all runs of hidden characters, in order."""
    flags = {index for match in _FLAG.finditer(text) for index in range(match.start(), match.end())}
    start = end = 0
    for index in (match.start() for match in _CANDIDATE.finditer(text)):
        if index not in flags and _is_hidden(text, index):
            if index > end > start:
                yield HiddenRun(start, text[start:end])
            start, end = (start if index == end > start else index), index + 1
    if end > start:
        yield HiddenRun(start, text[start:end])


def without_hidden(text: str) -> str:
    """Drop all hidden characters, as a reader would see the text."""
    pieces, position = [], 0
    for run in hidden_runs(text):
        pieces.append(text[position : run.start])
        position = run.start + len(run.text)
    return "".join([*pieces, text[position:]])


def _is_hidden(text: str, index: int) -> bool:
    """Return whether the character at an index is there without being seen."""
    character = text[index]
    if character in (_ZWJ, _ZWNJ):
        return not _joins(text, index)
    if character in (_TEXT_STYLE, _EMOJI_STYLE):
        base = text[index - 1] if index else ""  # a selector follows a character that has two styles
        return not (text[index + 1 : index + 2] == _KEYCAP if base in _KEYCAP_BASES and base else _is_pictograph(base))
    if _SELECTOR.match(character) or character in _BLANK:
        return True
    category = unicodedata.category(character)
    if category == "Cn":
        return not "\U0001f000" <= character <= "\U0001faff"  # Reserved for emoji: newer than this Python.
    return (
        category in ("Cc", "Cf", "Co", "Cs")
        and not (character in _NUMBER_SIGNS and text[index + 1 : index + 2].isalnum())
        and not (index == 0 and character == "\ufeff")
    )


def _joins(text: str, index: int) -> bool:
    """Return whether a joiner stands where emoji sequences, Indic or Arabic spelling put it."""
    before, after = text[max(index - 2, 0) : index], text[index + 1 : index + 2]
    if before and unicodedata.combining(before[-1]) == _VIRAMA:
        return after.isalpha()
    if text[index] == _ZWNJ:
        return _is_arabic(before[-1:]) and _is_arabic(after)
    base = before[:1] if before[-1:] == _EMOJI_STYLE or "\U0001f3fb" <= before[-1:] <= "\U0001f3ff" else before[-1:]
    return _is_pictograph(base) and _is_pictograph(after)


def _is_pictograph(character: str) -> bool:
    """Return whether a character is drawn as a picture or symbol; close enough to Unicode's emoji."""
    if not character or character < "\u00a9":
        return False
    return character in _STYLED or (
        character not in _BLANK
        and (unicodedata.category(character) in ("So", "Sm", "Sk") or "\U0001f000" <= character <= "\U0001faff")
    )


def _is_arabic(character: str) -> bool:
    return "\u0620" <= character <= "\u08ff" and character.isalpha()


def _decode(run: str) -> str:
    """Read tag characters as ASCII and variation selectors as bytes."""
    tags = "".join(chr(ord(character) - 0xE0000) for character in run if "\U000e0020" <= character <= "\U000e007e")
    data = bytes(
        ord(character) - 0xFE00 if character <= "\ufe0f" else ord(character) - 0xE0100 + 16
        for character in run
        if "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    )
    hidden = data.decode("utf-8", "replace") if len(data) > 1 else ""
    return tags + (hidden if hidden.isprintable() else "")


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
