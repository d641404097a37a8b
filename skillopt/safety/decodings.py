"""Read a text in the ways that hide what it says: base64, hex, percent signs, reversed, spelled out."""

import base64
import binascii
import codecs
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["decodings"]

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){4,}")
_PERCENT: Final = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_SPACED: Final = re.compile(r"(?:(?<=\s\S)|(?<=^\S))[ \t](?=\S(?:\s|$))")
_NUMERALS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMERAL: Final = re.compile(rf"\b(?:{'|'.join(_NUMERALS)}|oh|dash|hyphen|dot|point)\b[ \t,-]{{0,3}}", re.IGNORECASE)
_SIGNS: Final = {"oh": "0", "dash": "-", "hyphen": "-", "dot": ".", "point": "."}


def decodings(text: str) -> Iterator[str]:
    """Yield what else a text may say; each reading is of all of it, or of all that is encoded so.

    >>> list(decodings("T1JELTAwMzIsMjAyNA=="))[0]
    'ORD-0032,2024'

    Args:
        text: Any text.
    """
    yield "\n".join(map(_from_base64, _BASE64.findall(text)))
    yield "\n".join(map(_from_hex, _HEX.findall(text)))
    yield _PERCENT.sub(_from_percent, text)
    yield text[::-1]
    yield codecs.encode(text, "rot13")
    yield _SPACED.sub("", text)
    yield _NUMERAL.sub(lambda match: _digit(match[0]), text)


def _from_base64(found: str) -> str:
    plain = found.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _from_hex(found: str) -> str:
    try:
        return bytes.fromhex(found.replace(":", " ")).decode()
    except ValueError:
        return ""


def _from_percent(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode(errors="replace")


def _digit(found: str) -> str:
    word = found.strip(" \t,-").lower()
    return _SIGNS.get(word) or str(_NUMERALS.index(word))
