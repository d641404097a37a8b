"""How well a skill triggers: recall, false triggers, intervals, and which sibling was loaded in its place."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.rollouts import Rollout, skills_loaded
from skillopt.triggers.queries import Query

__all__ = ["Confusion", "QueryLoading", "TriggerQuality", "TriggerRate", "judge_loading", "trigger_rate"]

_NINETY_FIVE: Final = 1.959964
_NONE: Final = "(none)"
_OTHER: Final = "(none or other)"


@dataclass(frozen=True, slots=True)
class TriggerRate:
    """So many requests of so many, with Wilson's 95% interval of the share; 0 to 1 where there are none."""

    hits: int
    of: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class QueryLoading:
    """What was loaded for one request."""

    query: str
    expected: str
    place: str
    runs: int
    own: int
    loaded: Mapping[str, int]
    right: bool


@dataclass(frozen=True, slots=True)
class Confusion:
    """Runs by the skill that was expected and the skill that was loaded.

    A run that loaded two skills counts under both.
    """

    expected: tuple[str, ...]
    loaded: tuple[str, ...]
    runs: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class TriggerQuality:
    """How well a skill triggers; a request counts as loaded where it was in more than half of its runs."""

    recall: TriggerRate
    false_triggers: TriggerRate
    unsteady: int
    missing: int
    confusion: Confusion
    queries: tuple[QueryLoading, ...]


def trigger_rate(hits: int, of: int) -> TriggerRate:
    """Return a share with Wilson's 95% interval."""
    if not of:
        return TriggerRate(0, 0, 0.0, 1.0)
    share, square = hits / of, _NINETY_FIVE**2
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = _NINETY_FIVE / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of**2))
    return TriggerRate(hits, of, max(0.0, middle - half), min(1.0, middle + half))


def judge_loading(skill: str, queries: Sequence[Query], rollouts: Iterable[Rollout]) -> TriggerQuality:
    """Count what was loaded."""
    loaded: dict[str, list[tuple[str, ...]]] = {}
    for rollout in rollouts:
        names = skills_loaded(rollout.trajectory)
        if rollout.score is not None and names is not None:
            loaded.setdefault(rollout.task_id, []).append(names)
    rows = [_row(skill, query, loaded.get(query.key, [])) for query in queries]
    measured = [row for row in rows if row.runs]
    should = [row for row in measured if row.expected == skill]
    others = [row for row in measured if row.expected != skill]
    return TriggerQuality(
        trigger_rate(sum(row.right for row in should), len(should)),
        trigger_rate(sum(not row.right for row in others), len(others)),
        sum(0 < row.own < row.runs for row in measured),
        len(rows) - len(measured),
        _confusion(skill, measured),
        tuple(sorted(rows, key=lambda row: (row.right or not row.runs, row.expected != skill))),
    )


def _row(skill: str, query: Query, runs: Sequence[tuple[str, ...]]) -> QueryLoading:
    own = sum(skill in names for names in runs)
    counts = Counter(name for names in runs for name in names or (_NONE,))
    was = 2 * own > len(runs)
    return QueryLoading(
        query.text, query.expected, query.place, len(runs), own, dict(counts), was == (query.expected == skill)
    )


def _confusion(skill: str, rows: Sequence[QueryLoading]) -> Confusion:
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        for name, runs in row.loaded.items():
            counts[row.expected or _OTHER, name] += runs

    def order(name: str) -> tuple[bool, bool, str]:
        return name in (_NONE, _OTHER), name != skill, name

    expected = tuple(sorted({one for one, _ in counts}, key=order))
    loaded = tuple(sorted({one for _, one in counts}, key=order))
    return Confusion(expected, loaded, tuple(tuple(counts[one, other] for other in loaded) for one in expected))
