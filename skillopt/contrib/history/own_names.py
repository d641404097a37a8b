"""Mask the names of the person whose sessions are read, as git and the machine know them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

_NAME: Final = "[name]"
_LEAST: Final = 3  # characters; two are a word in many texts
_LEAST_LOCAL: Final = 5
"""Characters from which the part of an address before the @ is no ordinary word."""

_GENERIC: Final = frozenset(files(__package__ or "").joinpath("generic_names.txt").read_text(encoding="utf-8").split())
"""Names that many people and machines have, and that say nothing of a person."""


@dataclass(frozen=True, slots=True)
class OwnNames:
    """What is known of a person beforehand; empty for what is not."""

    name: str = ""
    address: str = ""
    accounts: tuple[str, ...] = ()
    home: str = ""
    host: str = ""

    def mask(self, text: str) -> str:
        """Replace them wherever they stand as words of their own; parts of a name only with their capital.

        >>> OwnNames("Ann Okoro", "ann@corp", ("aokoro",), "/srv/people/aokoro", "annbook").mask(
        ...     "ann okoro <ann@corp> in /srv/people/aokoro/x on annbook; aokoro, Ann, annual"
        ... )
        '[name] <[address]> in ~/x on [host]; [name], [name], annual'
        """
        for pattern, mask in _patterns(self):
            text = pattern.sub(mask, text)
        return text


@lru_cache(maxsize=8)
def _patterns(own: OwnNames) -> tuple[tuple[re.Pattern[str], str], ...]:
    return (*_of_places(own), *_of_person(own))


def _of_places(own: OwnNames) -> Iterator[tuple[re.Pattern[str], str]]:
    if len(own.home.strip("/")) >= _LEAST:
        yield re.compile(rf"(?<![\w.-]){re.escape(own.home.rstrip('/'))}(?![\w.-])"), "~"
    if "@" in own.address:
        yield _word(own.address), "[address]"
    for host in (own.host, own.host.partition(".")[0]):
        if _tells(host):
            yield _word(host), "[host]"


def _of_person(own: OwnNames) -> Iterator[tuple[re.Pattern[str], str]]:
    parts = own.name.split()
    if len(parts) > 1:
        joined = r"[\s._-]{0,3}".join(map(re.escape, parts))
        yield re.compile(rf"(?<!\w){joined}(?!\w)", re.IGNORECASE), _NAME
    local = own.address.partition("@")[0]
    for account in dict.fromkeys((*own.accounts, *([local] if len(local) >= _LEAST_LOCAL else []))):
        if _tells(account):
            yield _word(account), _NAME
    for part in parts:
        if _tells(part) and not part.islower():
            yield re.compile(rf"(?<!\w){re.escape(part)}(?!\w)"), _NAME


def _word(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(text)}(?![\w-])", re.IGNORECASE)


def _tells(name: str) -> bool:
    return len(name) >= _LEAST and name.casefold() not in _GENERIC
