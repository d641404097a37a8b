"""Power of the gate: how likely a gain is shown, by simulation of its own tests, before anything is spent."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from skillopt.gate.comparison import Outcome
from skillopt.gate.joint_sign_flips import JointSignFlips, draw_patterns
from skillopt.gate.proven_here import HERE_ROUNDS, HereTest
from skillopt.gate.round_bets import RoundBets
from skillopt.gate.test_choice import COMPARISON_SHARE, round_shares, round_weights

__all__ = ["Power", "gate_power"]

_PATTERNS: Final = 300
_PROVING_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class Power:
    """Chances of the verdicts."""

    proven: float
    here: float


def gate_power(
    rates: Sequence[tuple[float, float]],
    tasks: int,
    rounds: int,
    error: float,
    *,
    spread: float | None = None,
    runs: int = 120,
) -> Power:
    """Simulate first comparisons of a candidate with so much to show; the same arguments give the same numbers."""
    random = Random(f"{tasks}/{rounds}/{spread}")
    proven = here = 0
    for _ in range(runs):
        drawn = [random.choice(rates) for _ in range(tasks)]
        shown = _compare(drawn, min(rounds, HERE_ROUNDS), error * COMPARISON_SHARE, spread, random)
        proven += shown is Outcome.ACCEPT
        here += shown is not None
    return Power(proven / runs, here / runs)


def _compare(
    drawn: Sequence[tuple[float, float]], rounds: int, error: float, spread: float | None, random: Random
) -> Outcome | None:
    """Return `accept` for proven, `inconclusive` for proven here, None where nothing is shown."""
    if not rounds:
        return None
    test: JointSignFlips | RoundBets
    proving = min(rounds, _PROVING_ROUNDS)
    if spread is None:
        weights = round_weights(proving, halved=False)
        test = JointSignFlips(draw_patterns(len(drawn), random, _PATTERNS), error, weights)
    else:
        test = RoundBets(len(drawn), error, round_shares(proving))
    here = HereTest(len(drawn), draw_patterns(len(drawn) * HERE_ROUNDS, random, _PATTERNS))
    gains: list[list[float]] = [[] for _ in drawn]
    found, shown = None, False
    for _ in range(rounds):
        newest = [_score(after, spread, random) - _score(before, spread, random) for before, after in drawn]
        for task, gain in zip(gains, newest, strict=True):
            task.append(gain)
        if found is None:
            found = test.look(gains, whole=True)
        shown = here.look(newest) or shown
        if found is Outcome.ACCEPT:
            return found
        if here.over or (shown and found is not None):
            break
    return Outcome.INCONCLUSIVE if shown else None


def _score(rate: float, spread: float | None, random: Random) -> float:
    if spread is None:
        return float(random.random() < rate)
    return min(1.0, max(0.0, random.gauss(rate, spread)))
