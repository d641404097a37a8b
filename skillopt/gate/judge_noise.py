"""Noise of a judge: how often it agrees with itself, and whether it does so more often than a coin.

Each criterion of a result is read twice, in another order, and how often the two readings differ costs no call beyond
those that judge. Two readings that are wrong alike, as of a judge that always likes the longer text, are no noise and
cannot be seen here.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from skillopt.rollouts import Judgement, Rollout

_TOSSED: Final = 0.6
"""Share of criteria below which a judge agrees with itself hardly more often than a coin, which does on half."""

_NO_MARK: Final = "-"


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """How often two readings of one criterion of one result agreed; `missing` ones were not read twice."""

    agreed: int
    criteria: int
    results: int
    low: float
    high: float
    missing: int = 0

    @property
    def share(self) -> float:
        """The share of criteria on which the judge agrees with itself, in [0, 1]."""
        return self.agreed / self.criteria

    @property
    def words(self) -> str:
        """The share with its interval in a sentence."""
        missing = f"; {self.missing} more were not read twice" if self.missing else ""
        return (
            f"judge agrees with itself on {self.share:.0%} of {self.criteria} criteria in {self.results} results "
            f"(95% interval by results {self.low:.0%}\u2013{self.high:.0%}{missing})"
        )


def judge_agreement(rollouts: Iterable[Rollout]) -> JudgeAgreement | None:
    """Measure how often a judge agrees with itself, by what it read twice; None where it read nothing twice.

    Results that address the judge are left out: it read them in two versions. For the interval a result counts as one
    criterion, as its criteria may go together.
    """
    judgements = _judgements(rollouts)
    rows = [row for judgement in judgements if (row := _both(judgement))]
    if not rows:
        return None
    agreed, criteria = sum(map(sum, rows)), sum(map(len, rows))
    missing = sum(len(judgement.criteria) for judgement in judgements) - criteria
    return JudgeAgreement(agreed, criteria, len(rows), *share_interval(agreed / criteria, len(rows)), missing)


def is_tossed(agreement: JudgeAgreement | None, scored: int) -> bool:
    """Return whether most of the scored results were judged, by a judge that agrees with itself about as a coin."""
    return agreement is not None and agreement.share < _TOSSED and 2 * agreement.results >= scored


def share_interval(share: float, size: int) -> tuple[float, float]:
    """Return the 95% interval of a share of so many, after Wilson (1927)."""
    deviate = NormalDist().inv_cdf(0.975)
    square = deviate**2
    middle = (share + square / (2 * size)) / (1 + square / size)
    half = deviate / (1 + square / size) * math.sqrt(share * (1 - share) / size + square / (4 * size**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def _judgements(rollouts: Iterable[Rollout]) -> list[Judgement]:
    """Return what was judged and addresses nobody, each rollout once."""
    found: dict[tuple[str, str, int], Judgement] = {}
    for one in rollouts:
        judgement = one.score.judgement if one.score else None
        if judgement is not None and not judgement.addressed:
            found[(one.task_id, one.skill_digest, one.repeat)] = judgement
    return list(found.values())


def _both(judgement: Judgement) -> list[bool]:
    """Return for each criterion that the first two readings both answered whether they agree."""
    if len(judgement.readings) < 2:  # noqa: PLR2004 - two readings make a pair
        return []
    pairs = zip(*judgement.readings[:2], strict=True)
    return [(one == "y") is (other == "y") for one, other in pairs if _NO_MARK not in (one, other)]
