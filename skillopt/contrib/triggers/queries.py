"""Requests that say which skill should be loaded: read from trigger sets and checked for contradictions."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from unicodedata import normalize

from skillopt.errors import SuiteError
from skillopt.suites import read_tasks
from skillopt.suites.near_copies import near_copies
from skillopt.suites.reading import Skipped, Trigger
from skillopt.tasks import digest_of


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
    """Read requests from trigger sets; what they contradict each other in is refused."""
    installed = {name.casefold(): name for name in names}
    found, refused = dict[str, Query](), dict[tuple[str, str], Query]()
    skipped: list[Skipped] = []
    for one in sets:
        reading = read_tasks(one.path)
        skipped += reading.skipped
        for trigger in reading.triggers:
            query = _query(trigger, one, installed, root)
            if query.expected != one.owner:
                refused.setdefault((query.key, one.owner), query)
                if one.only_positive:
                    continue
            known = found.setdefault(query.key, query)
            if known.expected != query.expected:
                # Where another set only says that its own skill is not meant, a sibling's says which is.
                if not one.only_positive or known.expected:
                    raise SuiteError(_contradiction(query, known))
                found[query.key] = replace(known, expected=one.owner)
    _expect_none_refused(found.values(), refused)
    return Queries(tuple(found.values()), tuple(skipped))


def _expect_none_refused(found: Iterable[Query], refused: Mapping[tuple[str, str], Query]) -> None:
    """Refuse a request for which a skill should be loaded by one set, and by that skill's own set should not."""
    for query in found:
        if other := refused.get((query.key, query.expected)):
            raise SuiteError(
                f"{other.place}: expected one label for the request {other.text!r:.100}, found that "
                f"{query.expected!r} should not be loaded here and that it should be in {query.place}; remove or "
                "correct one"
            )


def _query(trigger: Trigger, one: TriggerSet, installed: Mapping[str, str], root: Path) -> Query:
    """Return which skill is expected: one that is named and installed, else the owner where it should be loaded."""
    written = [text.casefold().rpartition(":")[2] for text in trigger.skills]
    named = [installed[name] for name in written if name in installed]
    shown = one.path.relative_to(root) if one.path.is_relative_to(root) else one.path
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


_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
"""Characters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana and Han."""

_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_ONE_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")
_COPIED: Final = 6.0  # words in a row; two Chinese, Japanese or Thai characters count as one
_SHORT: Final = 3.0
"""Words in a row that a description may not take from a request, and fewest of a shorter one that is taken whole."""


def _request_words(text: str) -> tuple[str, ...]:
    """Split a text into words, whatever its case, its punctuation and the form of its characters.

    >>> _request_words("Merge the P.D.F-files!")
    ('merge', 'the', 'p', 'd', 'f', 'files')

    Where a script puts no spaces between words, each character is one.
    """
    return tuple(_WORD.findall(normalize("NFKC", text).casefold()))


def request_key(text: str) -> str:
    """Identify a request by its words; one without any by its characters."""
    return " ".join(_request_words(text)) or " ".join(normalize("NFKC", text).casefold().split())


def find_copied_words(text: str, before: str, request: str) -> str:
    """Return words in a row that a description took from a request and had not before: six, or all of three to five."""
    said, known = (f" {' '.join(_request_words(one))} " for one in (text, before))
    for run in _runs(_request_words(request)):
        words = f" {' '.join(run)} "
        if words in said and words not in known:
            return words.strip()
    return ""


def _runs(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the runs of a request that count as a copy: the shortest from each word on, or all of a short one."""
    weights = [0.5 if _ONE_UNSPACED.fullmatch(word) else 1.0 for word in words]
    if _SHORT <= sum(weights) < _COPIED:
        yield words
    for start in range(len(words)):
        total = 0.0
        for end in range(start, len(words)):
            total += weights[end]
            if total >= _COPIED:
                yield words[start : end + 1]
                break


_TRAIN: Final = frozenset({"train", "training"})
_HELD_OUT: Final = frozenset({"val", "validation", "test", "held-out", "held_out", "holdout", "dev"})


def split_queries(queries: Sequence[Query]) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
    """Split requests to train on and to hold out: near copies together, as authors say, else stratified by label.

    Of each file and label half is held out: a hash decides while both sides are equal, then the smaller side is filled.
    Near copies of a training request are trained on. So a request appended to a file holds out none of those before it.
    """
    sides: dict[tuple[str, bool], Counter[bool]] = {}
    drawn: dict[str, bool] = {}
    for one in queries:
        counts = sides.setdefault((one.place.rpartition(":")[0], bool(one.expected)), Counter())
        even = counts[False] == counts[True]
        draw = int(digest_of("trigger split", one.key)[-2], 16) % 2 == 1
        drawn[one.key] = held = draw if even else counts[False] > counts[True]
        counts[held] += 1
    groups = ([queries[at] for at in group] for group in near_copies([one.key for one in queries]))
    held_out = {one.key for group in groups if _is_held_out(group, drawn) for one in group}
    return (
        tuple(one for one in queries if one.key not in held_out),
        tuple(one for one in queries if one.key in held_out),
    )


def _is_held_out(group: Sequence[Query], drawn: Mapping[str, bool]) -> bool:
    given = {one.split for one in group}
    if given & _TRAIN:
        return False
    return bool(given & _HELD_OUT) or all(drawn[one.key] for one in group)
