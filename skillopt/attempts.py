"""Attempts of a search: settings that were tried, what they scored and what that took, case by case.

Owns the two objectives (score up, rollouts down), which attempts nothing beats in both, and which one to
recommend. A case is one run of the loop under a seed of its own, and is the unit of inference. Does not own
giving an attempt up early (racing) or choosing what to try (tuning).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from skillopt import objectives
from skillopt.search_space import Value
from skillopt.sign_flip import p_value

__all__ = ["Attempt", "Confirmation", "Result", "confirm", "estimated", "front", "recommend"]


@dataclass(frozen=True, slots=True)
class Result:
    """What one case came to: a score in [0, 1], and the rollouts that training took."""

    score: float
    rollouts: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """Settings that were tried.

    Args:
        number: In the order of the search; 0 is where it starts.
        values: What the dials were set to.
        results: By case, in the order of the cases.
        given_up: Whether it lost before all cases were measured.
    """

    number: int
    values: Mapping[str, Value]
    results: Mapping[str, Result]
    given_up: bool = False

    @property
    def score(self) -> float:
        """Give the mean score over the cases measured."""
        return fmean(result.score for result in self.results.values())

    @property
    def rollouts(self) -> float:
        """Give the mean of rollouts over the cases measured."""
        return fmean(result.rollouts for result in self.results.values())


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The recommended settings against those that the search started from, on cases that chose nothing.

    Args:
        cases: How many.
        score: Mean score of the recommended settings.
        gain: Mean paired difference of scores.
        gain_p: One-sided p-value of the gain, by the exact sign-flip test.
        rollouts: Mean rollouts of the recommended settings.
        saved: Mean paired difference of rollouts, positive for fewer.
        saved_p: One-sided p-value of what is saved, by the same test.
    """

    cases: int
    score: float
    gain: float
    gain_p: float
    rollouts: float
    saved: float
    saved_p: float

    def __str__(self) -> str:
        """Say it in one sentence without an end."""
        gained = f"score {self.score:.3f}, {self.gain:+.3f} against the first settings (one-sided p {self.gain_p:.2g})"
        saved = f"{self.rollouts:.0f} rollouts, {-self.saved:+.0f} (one-sided p {self.saved_p:.2g})"
        return f"{gained}, and {saved}, in {self.cases} runs"


def front(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Give the finished attempts that no other one beats in both objectives, dearest last; of equals the first."""
    finished = sorted(
        (attempt for attempt in attempts if not attempt.given_up), key=lambda one: (one.rollouts, one.number)
    )
    return tuple(finished[at] for at in objectives.front([(one.rollouts, -one.score) for one in finished]))


def recommend(attempts: Sequence[Attempt]) -> Attempt:
    """Choose the cheapest attempt of the front whose score is within one standard error of the best one's.

    The standard error is that of the paired differences (the rule of Breiman et al. 1984, §3.4.3): a higher mean that
    the noise of the cases explains is not worth rollouts.

    Args:
        attempts: At least one of them finished.
    """
    shown = front(attempts)
    best = shown[-1]
    return next(attempt for attempt in shown if best.score - attempt.score <= _error(best, attempt))


def _error(best: Attempt, other: Attempt) -> float:
    """Give the standard error of the mean difference; 0 for a single case, which tells none."""
    differences = [best.results[case].score - other.results[case].score for case in best.results]
    return stdev(differences) / sqrt(len(differences)) if len(differences) > 1 else 0.0


def estimated(attempt: Attempt, attempts: Sequence[Attempt]) -> tuple[float, float]:
    """Estimate both objectives over all cases; for an attempt given up, from its differences to the best one.

    The plain mean of the few cases that such an attempt got would compare easy cases with hard ones.

    Args:
        attempt: Any.
        attempts: Those before it.
    """
    if not attempt.given_up:
        return attempt.score, attempt.rollouts
    best = front(attempts)[-1]
    shared = [best.results[case] for case in attempt.results]
    score = best.score + attempt.score - fmean(result.score for result in shared)
    rollouts = best.rollouts + attempt.rollouts - fmean(result.rollouts for result in shared)
    return min(1.0, max(0.0, score)), max(0.0, rollouts)


def confirm(start: Sequence[Result], chosen: Sequence[Result]) -> Confirmation:
    """Compare the recommended settings with the first ones, case by case.

    Args:
        start: Results of the settings that the search started from, at least one.
        chosen: Results of the recommended settings on the same cases.
    """
    pairs = list(zip(chosen, start, strict=True))
    gains = [own.score - other.score for own, other in pairs]
    saved = [other.rollouts - own.rollouts for own, other in pairs]
    largest = max(map(abs, saved)) or 1
    return Confirmation(
        cases=len(pairs),
        score=fmean(own.score for own in chosen),
        gain=fmean(gains),
        gain_p=p_value(gains),
        rollouts=fmean(own.rollouts for own in chosen),
        saved=fmean(saved),
        saved_p=p_value([number / largest for number in saved]),
    )
