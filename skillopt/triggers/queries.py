"""Requests that say which skill should be loaded: read from trigger sets and checked for contradictions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.errors import SuiteError
from skillopt.suites import read_tasks
from skillopt.suites.reading import Skipped, Trigger
from skillopt.tasks import digest_of
from skillopt.triggers.wording import request_key

__all__ = ["Queries", "Query", "TriggerSet", "read_queries"]


@dataclass(frozen=True, slots=True)
class Query:
    """A request and the skill that should be loaded for it."""

    text: str
    expected: str
    place: str
    split: str = ""

    @property
    def key(self) -> str:
        """Identify the request by its words, ignoring case, spacing, punctuation and forms of characters."""
        return request_key(self.text)


@dataclass(frozen=True, slots=True)
class TriggerSet:
    """A file of requests."""

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
    """Read requests from trigger sets."""
    reader = _Reader(names, root)
    for one in sets:
        reading = read_tasks(one.path)
        reader.skipped += reading.skipped
        for trigger in reading.triggers:
            reader.take(one, trigger)
    reader.check_refused()
    return Queries(tuple(reader.found.values()), tuple(reader.skipped))


class _Reader:
    """Puts requests of several sets together; what they contradict each other in is refused."""

    def __init__(self, names: Collection[str], root: Path) -> None:
        self._names = {name.casefold(): name for name in names}
        self._root = root
        self.found: dict[str, Query] = {}
        self.skipped: list[Skipped] = []
        self._refused: dict[tuple[str, str], Query] = {}

    def take(self, one: TriggerSet, trigger: Trigger) -> None:
        """Take a request of a set."""
        query = self._query(trigger, one)
        if query.expected != one.owner:
            self._refused.setdefault((query.key, one.owner), query)
            if one.only_positive:
                return
        known = self.found.setdefault(query.key, query)
        if known.expected == query.expected:
            return
        # Where another set only says that its own skill is not meant, a sibling's says which is.
        if not one.only_positive or known.expected:
            raise SuiteError(_contradiction(query, known))
        self.found[query.key] = replace(known, expected=one.owner)

    def check_refused(self) -> None:
        """Refuse a request for which a skill should be loaded by one set, and by that skill's own set should not."""
        for query in self.found.values():
            if other := self._refused.get((query.key, query.expected)):
                raise SuiteError(
                    f"{other.place}: expected one label for the request {other.text!r:.100}, found that "
                    f"{query.expected!r} should not be loaded here and that it should be in {query.place}; remove or "
                    "correct one"
                )

    def _query(self, trigger: Trigger, one: TriggerSet) -> Query:
        """Return which skill is expected: one that is named and installed, else the owner where it should be loaded."""
        written = [text.casefold().rpartition(":")[2] for text in trigger.skills]
        named = [self._names[name] for name in written if name in self._names]
        shown = one.path.relative_to(self._root) if one.path.is_relative_to(self._root) else one.path
        place = f"{shown}:{trigger.line}"
        if one.owner in named and not (trigger.should_trigger or trigger.implied):
            raise SuiteError(
                f"{place}: expected one label for the request {trigger.query!r:.100}, found that {one.owner!r} is "
                "expected and should not be loaded, both here; set should_trigger to true, or name another skill"
            )
        owner = one.owner if trigger.should_trigger else ""
        expected = one.owner if one.owner in named else named[0] if named else owner
        return Query(trigger.query, expected, place, trigger.split.strip().casefold())


def _contradiction(query: Query, known: Query) -> str:
    says = [f"{one.expected!r} should be loaded" if one.expected else "it should not be" for one in (query, known)]
    return (
        f"{query.place}: expected one label for the request {query.text!r:.100}, found that {says[0]} here and that "
        f"{says[1]} in {known.place}; remove or correct one"
    )
