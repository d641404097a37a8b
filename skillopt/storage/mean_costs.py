"""Mean cost and pace of recorded rollouts and optimizer calls, each counted apart though one model may do both."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import sqrt
from statistics import fmean, pstdev
from typing import Final, Literal

from skillopt.storage.ledger import CostRow, Ledger

_PAUSE: Final = 900.0
"""Seconds without a record after which nobody was waiting for one: the command had ended."""

_NEWEST: Final = 500
"""Rollouts whose times are read: how long the others took says little of what the target takes now."""


@dataclass(frozen=True, slots=True)
class MeanCost:
    """Mean cost of recorded calls."""

    calls: int
    tokens: tuple[float, float]
    usd: tuple[float, float] | None
    pace: float | None


def recorded_seconds(ledger: Ledger, identity: str) -> list[tuple[str, float]]:
    """List task and seconds of the newest rollouts of a target that were timed, oldest first."""
    keys = [row.key for row in ledger.target_results(identity, _NEWEST)]
    found = ledger.rollouts(keys)
    return [(one.task_id, one.seconds) for one in map(found.__getitem__, keys) if one.seconds is not None]


def mean_cost(rows: Sequence[CostRow], kind: Literal["rollout", "reply"], identity: str) -> MeanCost | None:
    """Return the mean cost of the rollouts of a target, or of the replies of a model; None when there are none."""

    def wanted(row: CostRow) -> bool:
        return (row.kind, row.identity) == (kind, identity)

    own = [row for row in rows if wanted(row)]
    if not own:
        return None
    gaps = [_seconds(before, after) for before, after in pairwise(rows) if wanted(after)]
    waited = [gap for gap in gaps if gap <= _PAUSE]
    usd = [row.usd for row in own if row.usd is not None]
    return MeanCost(
        len(own),
        _mean(row.tokens for row in own),
        _mean(usd) if len(usd) == len(own) else None,
        fmean(waited) if waited else None,
    )


def _mean(values: Iterable[float]) -> tuple[float, float]:
    found = list(values)
    return fmean(found), pstdev(found) / sqrt(len(found))


def _seconds(before: CostRow, after: CostRow) -> float:
    return (datetime.fromisoformat(after.at) - datetime.fromisoformat(before.at)).total_seconds()
