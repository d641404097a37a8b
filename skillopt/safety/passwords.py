"""Find passwords that stand in a text as such, known by the words around them."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_passwords"]

_VALUE: Final = r"(?P<{}>(?=[^\s\d]{{0,30}}\d)[A-Za-z0-9][\w!#%&*+@^~-]{{3,40}}(?:\.\w{{1,20}})?)"
_WORD: Final = r"(?:pass(?:word|phrase|wd|code)|pwd)"
_PASSWORD: Final = re.compile(
    rf"\b\w{{0,20}}{_WORD}s?\b[\"'`]?(?:[ \t]+(?:of|for) [^.\n=:]{{1,30}}?)?(?:[ \t]*(?:[:=]|=>)[ \t]*"
    r"|[ \t]+(?:is|was|to)[ \t]+|[ \t]+)"
    rf"[\"'`]?{_VALUE.format('said')}"
    rf"|\bpassphrase\b[^.\n]{{0,20}}?(?:\b(?:is|was)[ \t]|:[ \t]?"
    rf"|[ \t])[\"'`]?(?P<words>\w{{3,20}}(?:-\w{{2,20}}){{1,8}})"
    r"|\b(?:PIN|passcode)\b[^.,;\n\d]{0,25}?\b(?:is|:|=|to)?[ \t]*[\"'`]?(?P<digits>\d{4,8})\b"
    r"|\b(?:unzip|zip|7z|mysql|mariadb|mysqldump|sshpass|openssl|qpdf"
    rf"|psql)\b[^\n`]{{0,60}}?[ \t]-[pP][ \t]?[\"']?{_VALUE.format('given')}"
    rf"|\b(?:log ?in|sign in|authenticate|connect)\b[^.\n]{{0,20}}?\bas \w{{2,20}} ?[/:] ?{_VALUE.format('signed')}",
    re.IGNORECASE,
)


def find_passwords(line: str) -> Iterator[TextMatch]:
    """Find the passwords on one line; what is shown of them is masked.

    >>> [found.text for found in find_passwords("Open it with the password `pa55w0rd`, never with password=None.")]
    ['password `[password]']

    Args:
        line: A line as a reader takes it.
    """
    for match in _PASSWORD.finditer(line):
        name = match.lastgroup or "said"
        shown = f"{line[match.start() : match.start(name)]}[password]"
        yield TextMatch(LintClass.PASSWORD, match[name], match.start(), shown, "what looks like a password")
