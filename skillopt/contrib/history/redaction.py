"""Take secrets and personal data out of text before it is written anywhere.

What is found once is taken out wherever it stands: a password named in one place and bare in another is gone from both.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from math import log2
from typing import Final

from skillopt.contrib.history.own_names import OwnNames
from skillopt.contrib.history.personal_data import mask_hosts, mask_personal_data
from skillopt.errors import UsageError
from skillopt.safety.credentials import find_credentials, mask

TAKEN_OUT: Final = "[secret]"
"""What stands where a secret stood."""

FindSecrets = Callable[[str], Iterable[str]]
"""Gives the secrets that a scanner finds on a line."""

_SHORTEST: Final = 6
"""Characters from which a secret is taken out wherever it stands; a shorter one only where it was recognised."""
_RANDOM: Final = re.compile(
    r"(?<![\w/+=-])(?=[^\s\d]{0,80}\d)(?=[^A-Za-z\s]{0,80}[A-Za-z])[A-Za-z0-9/+_=-]{20,400}(?![\w+=-])"
)
_HEX: Final = re.compile(r"(?<![\w])[0-9a-fA-F]{32,128}(?![\w])")
_ENTROPY: Final = 4.0
"""Bits a character from which a long word with digits is random."""

_LONGEST_LINE: Final = 2_000
"""Characters that are scanned at once: a scanner's patterns are made for lines as people write them."""

_WIDE: Final = {
    code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1B), 0xFF1D, *range(0xFF20, 0xFF3B), *range(0xFF41, 0xFF5B))
}
"""Digits, letters, colon, equals and at signs in full width, and what they are in ASCII."""

_BROKEN: Final = re.compile(r"(?<=[\w/+=-]{8})\r?\n[ \t>|]{0,20}(?=[\w/+=-]{4})")
"""Where a long word may go on in the next line."""

_LINE_BREAK: Final = r"(?:\r?\n[ \t>|]{0,20})?"

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

_BY_ENTROPY: Final = frozenset({"Base64HighEntropyString", "HexHighEntropyString"})
"""They report every word of a line that is scanned alone; random words are found in redaction."""


@contextmanager
def secret_scanner() -> Iterator[FindSecrets]:
    """Return a function that finds the secrets on a line."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.core.scan import scan_line
        from detect_secrets.settings import transient_settings
    except ImportError as error:
        raise UsageError(
            "expected the scanner that takes secrets out of sessions, found no detect-secrets; install it with "
            "pip install 'PATH-OF-CLONE[harvest]'"
        ) from error
    kinds: Collection[type] = get_mapping_from_secret_type_to_class().values()
    names = sorted(kind.__name__ for kind in kinds)
    plugins = [{"name": name} for name in names if name not in _BY_ENTROPY]

    def find(line: str) -> Iterator[str]:
        for found in scan_line(line):
            if found.secret_value:
                yield found.secret_value

    with transient_settings({"plugins_used": plugins}):
        yield find


class Redaction:
    """Redacts texts that belong together."""

    def __init__(self, find: FindSecrets, known: Iterable[str] = (), own: OwnNames | None = None) -> None:
        self._find, self._own = find, own or OwnNames()
        self._values = {value for value in known if len(value) >= _SHORTEST}
        self._learned = set[str]()

    def learn(self, *texts: str) -> None:
        """Note the secrets in texts, so that they are taken out of all others too."""
        for text in {text.translate(_WIDE) for text in texts} - self._learned:
            self._learned.add(text)
            self._values |= {value for value in self._secrets(text) if len(value) >= _SHORTEST}

    def text(self, text: str) -> str:
        """Redact what a person or a program said."""
        return mask_hosts(self.file(text))

    def file(self, text: str) -> str:
        """Redact a file; the hosts that it names are of the repository, and stay."""
        narrow = text.translate(_WIDE)
        redacted = self._masked(narrow)
        return redacted if redacted != narrow else text

    def _masked(self, text: str) -> str:
        self.learn(text)
        for value in _broken_secrets(text):
            text = re.sub(_LINE_BREAK.join(map(re.escape, value)), TAKEN_OUT, text)
        text = _mask_named(mask(text))
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, TAKEN_OUT)
        return self._own.mask(mask_personal_data(text))

    def _secrets(self, text: str) -> Iterable[str]:
        yield from (text[found.start : found.end] for found in find_credentials(text))
        for line in text.splitlines():
            for at in range(0, len(line) or 1, _LONGEST_LINE // 2):
                yield from self._find(line[at : at + _LONGEST_LINE])  # pieces of a longer line overlap
            yield from (found["value"] for found in _NAMED.finditer(line))
            yield from (found[0] for found in _HEX.finditer(line))
            yield from (found[0] for found in _RANDOM.finditer(line) if _is_random(found[0]))


def _mask_named(text: str) -> str:
    """Take out what stands beside a word that says what it is, however short it is.

    >>> _mask_named("DB_PASS=abc12; curl -u ann:Pw9 x; Passwort lautet Sommer26!")
    'DB_PASS=[secret]; curl -u ann:[secret] x; Passwort lautet [secret]'
    """
    text = _PHRASE.sub(rf"\g<name>{TAKEN_OUT}", _COOKIE.sub(rf"\g<name> {TAKEN_OUT}", text))
    return _NAMED.sub(lambda found: f"{found[0][: -len(found['value'])]}{TAKEN_OUT}", text)


def _broken_secrets(text: str) -> Iterable[str]:
    """Return the secrets of a known shape that a line break cuts in two."""
    joined, breaks, gone = _BROKEN.sub("", text), list[int](), 0
    for found in _BROKEN.finditer(text):
        breaks.append(found.start() - gone)
        gone += len(found[0])
    for secret in find_credentials(joined) if breaks else ():
        cuts = [at for at in breaks if secret.start < at < secret.end]
        # A whole one at the end of a line is not glued to the first word of the next.
        if cuts and not re.fullmatch("[a-z]+", joined[cuts[-1] : secret.end]):
            yield joined[secret.start : secret.end]


def _is_random(word: str) -> bool:
    """Distinguish high-entropy strings from paths and identifiers."""
    parts = re.split(r"[/_=.-]", word)
    if max(map(len, parts)) < _SHORTEST * 2 and "/" in word:
        return False
    counts = Counter(word).values()
    return -sum(count / len(word) * log2(count / len(word)) for count in counts) >= _ENTROPY
