"""Requests that say which skill should be loaded: read from trigger sets, checked for contradictions, split."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.suites import read_tasks
from skillopt.suites.reading import Skipped, Trigger
from skillopt.tasks import digest_of

__all__ = ["Queries", "Query", "TriggerSet", "read_queries", "split_queries"]

_WORD: Final = re.compile(r"\w+")
_NEAR: Final = 0.6
"""Share of all words of two requests that both have, from which on they count as copies of each other."""

_TRAIN: Final = frozenset({"train", "training"})
_HELD_OUT: Final = frozenset({"val", "validation", "test", "held-out", "held_out", "holdout", "dev"})


@dataclass(frozen=True, slots=True)
class Query:
    """A request and the skill that should be loaded for it.

    Args:
        text: The request.
        expected: Name of the skill; empty where no skill should be loaded, or none that is known.
        place: File and line.
        split: The split that its author gave; empty for none.
    """

    text: str
    expected: str
    place: str
    split: str = ""

    @property
    def key(self) -> str:
        """Identify the request, ignoring case and spacing."""
        return " ".join(self.text.casefold().split())


@dataclass(frozen=True, slots=True)
class TriggerSet:
    """A file of requests.

    Args:
        path: The file.
        owner: The skill that it is about.
        only_positive: Whether only requests for which the owner should be loaded are taken.
    """

    path: Path
    owner: str
    only_positive: bool = False


@dataclass(frozen=True, slots=True)
class Queries:
    """What was read: requests, each once, and items that say nothing about loading."""

    queries: tuple[Query, ...]
    skipped: tuple[Skipped, ...]

    @property
    def digest(self) -> str:
        """Identify the requests and what they expect, whatever their order."""
        return digest_of(*(part for one in sorted((each.key, each.expected) for each in self.queries) for part in one))


def read_queries(sets: Sequence[TriggerSet], names: Collection[str], root: Path) -> Queries:
    """Read requests from trigger sets.

    Args:
        sets: The files; a request that stands in several counts once.
        names: Names of all skills that are installed: only those can be expected.
        root: Folder that places are told from.

    Raises:
        SuiteError: A file cannot be read, holds no request, or says of one request that the skill should be loaded and
            that it should not; the message starts with file and line.
    """
    found: dict[str, Query] = {}
    skipped: list[Skipped] = []
    for one in sets:
        reading = read_tasks(one.path)
        skipped += reading.skipped
        for trigger in reading.triggers:
            query = _query(trigger, one, names, root)
            if one.only_positive:
                # Where another set only says that its own skill is not meant, this one says which is.
                known = found.get(query.key)
                if query.expected == one.owner and (known is None or not known.expected):
                    found[query.key] = query if known is None else replace(known, expected=one.owner)
                continue
            known = found.setdefault(query.key, query)
            if known.expected != query.expected:
                raise SuiteError(_contradiction(query, known))
    return Queries(tuple(found.values()), tuple(skipped))


def _query(trigger: Trigger, one: TriggerSet, names: Collection[str], root: Path) -> Query:
    """Say which skill is expected: one that is named and installed, else the owner where it should be loaded."""
    by_name = {name.casefold(): name for name in names}
    named = [by_name[name] for text in trigger.skills if (name := text.casefold().rpartition(":")[2]) in by_name]
    owner = one.owner if trigger.should_trigger else ""
    expected = one.owner if one.owner in named else named[0] if named else owner
    shown = one.path.relative_to(root) if one.path.is_relative_to(root) else one.path
    return Query(trigger.query, expected, f"{shown}:{trigger.line}", trigger.split.strip().casefold())


def _contradiction(query: Query, known: Query) -> str:
    says = [f"{one.expected!r} should be loaded" if one.expected else "it should not be" for one in (query, known)]
    return (
        f"{query.place}: expected one label for the request {query.text!r:.100}, found that {says[0]} here and that "
        f"{says[1]} in {known.place}; remove or correct one"
    )


def split_queries(queries: Sequence[Query]) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
    """Split requests into those to train on and those held out, near copies on the same side.

    Splits that the authors gave are kept. Of the rest every skill that is expected has its share on both sides.

    Returns:
        Training requests and held-out ones, in the order given.
    """
    held_out: set[str] = set()
    counts: dict[tuple[str, bool], int] = {}
    groups = [*_groups(queries)]
    groups.sort(key=lambda group: (not _given(group), digest_of(group[0].key)))
    for group in groups:
        expected, given = group[0].expected, _given(group)
        out = given in _HELD_OUT or (
            given not in _TRAIN and counts.get((expected, True), 0) <= counts.get((expected, False), 0)
        )
        counts[expected, out] = counts.get((expected, out), 0) + len(group)
        held_out |= {one.key for one in group} if out else set()
    return (
        tuple(one for one in queries if one.key not in held_out),
        tuple(one for one in queries if one.key in held_out),
    )


def _given(group: Iterable[Query]) -> str:
    return next((one.split for one in group if one.split in _TRAIN | _HELD_OUT), "")


def _groups(queries: Sequence[Query]) -> Iterator[tuple[Query, ...]]:
    """Yield groups of requests that are near copies of each other, chains of them included."""
    words = [frozenset(_WORD.findall(one.key)) for one in queries]
    group_of = list(range(len(queries)))
    for at in range(len(queries)):
        for before in range(at):
            alike = len(words[at] & words[before]) >= _NEAR * len(words[at] | words[before])
            if alike and group_of[at] != group_of[before]:
                old, new = group_of[at], group_of[before]
                group_of = [new if number == old else number for number in group_of]
    for number in dict.fromkeys(group_of):
        yield tuple(one for one, own in zip(queries, group_of, strict=True) if own == number)
