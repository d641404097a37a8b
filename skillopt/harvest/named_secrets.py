"""Find secrets by the words that people and programs write before them."""

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["find_named_secrets", "mask_named_secrets"]

_SAID: Final = r"[\"']?(?:\s{1,3}(?:lautet|ist|est|es|\u00e9|is)\s{1,3}|\s{0,3}[:=\uff1a\uff1d]\s{0,3})[\"'`]?"
_WITH_A_DIGIT: Final = r"(?=[^\s\"']{0,60}\d)"
_OWN_WORDS: Final = r"passwort|kennwort|mot de passe|contrase(?:n|\u00f1)a|senha|wachtwoord"
_KEY_WORDS: Final = r"pass|password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key"
_BEFORE: Final = (
    r"(?<!\S)(?:-u[ =]?|--(?:proxy-)?user[ =])[\"']?[\w.@-]{1,60}:(?!\d{1,5}(?!\S))",
    rf"\b(?:{_OWN_WORDS}){_SAID}{_WITH_A_DIGIT}",
    rf"\b(?:log(?:ged)? ?in|sign(?:ed)? in|authenticate|connect)\b[^.\n]{{0,40}}\bwith {_WITH_A_DIGIT}",
    rf"\b\w{{0,30}}(?:{_KEY_WORDS}){_SAID}{_WITH_A_DIGIT}",
    r"\b(?:key|token|secret)\b[\"']?[:= ]{1,3}[\"'`]?(?=[0-9a-f]{16}|[0-9a-f]{8}-[0-9a-f]{4}-)",
)
_NAMED: Final = re.compile(rf"(?:{'|'.join(_BEFORE)})(?P<value>[^\s\"'`,;]{{3,200}})", re.IGNORECASE)
_COOKIE: Final = re.compile(
    r"(?P<name>\b(?:set-)?cookie\b[\"']?[ \t]{0,3}[:=])(?:(?<=:)[^\n]{3,4000}|[^\n\"']{3,4000})", re.IGNORECASE
)
_PHRASE: Final = re.compile(
    r"(?P<name>\b(?:(?:seed|mnemonic|recovery|backup) (?:phrase|words?)|mnemonic|seed(?=\s?[:=]))"
    r"(?: is| are)?[^\w]{1,5})"
    r"(?:(?:\d{1,2}[.)] ?)?[a-z]{3,12}[\s,]{1,3}){11,23}(?:\d{1,2}[.)] ?)?[a-z]{3,12}",
    re.IGNORECASE,
)


def find_named_secrets(line: str) -> Iterator[str]:
    """Return the values that a line calls secret."""
    yield from (found["value"] for found in _NAMED.finditer(line))


def mask_named_secrets(text: str, mask: str) -> str:
    """Take out what stands beside a word that says what it is, however short it is.

    >>> mask_named_secrets("DB_PASS=abc12; curl -u ann:Pw9 x; Passwort lautet Sommer26!", "[secret]")
    'DB_PASS=[secret]; curl -u ann:[secret] x; Passwort lautet [secret]'
    """
    text = _PHRASE.sub(rf"\g<name>{mask}", _COOKIE.sub(rf"\g<name> {mask}", text))
    return _NAMED.sub(lambda found: f"{found[0][: -len(found['value'])]}{mask}", text)
