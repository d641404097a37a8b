"""How much a step may change and how much a run may ask for.

Owns the edit budget (the textual learning rate: so many edits and so many changed tokens a step)
and the caps on a run. Does not own prices or what a provider reports.
"""

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import assert_never

from skillopt.edits import Change
from skillopt.ports import RolloutRequest, Runner
from skillopt.rollouts import Reply, Rollout

__all__ = ["BudgetReached", "CappedRunner", "Schedule", "clip", "scheduled_edits"]


class Schedule(StrEnum):
    """How the edit budget moves over the steps; `autonomous` lets the optimizer model choose."""

    CONSTANT = "constant"
    LINEAR = "linear"
    COSINE = "cosine"
    AUTONOMOUS = "autonomous"


def scheduled_edits(schedule: Schedule, step: int, steps: int, most: int, least: int) -> int:
    """Give the edits allowed in one step.

    >>> [scheduled_edits(Schedule.COSINE, step, 8, 4, 2) for step in range(1, 9)]
    [4, 4, 3, 3, 3, 2, 2, 2]

    Args:
        schedule: The curve; `autonomous` gives the upper bound of the model's choice.
        step: 1 to `steps`.
        steps: Steps in the run, ≥ 1.
        most: Edits at the start, ≥ `least`.
        least: Edits at the end, ≥ 1.
    """
    done = step / steps
    match schedule:
        case Schedule.CONSTANT | Schedule.AUTONOMOUS:
            share = 1.0
        case Schedule.LINEAR:
            share = 1.0 - done
        case Schedule.COSINE:
            share = (1.0 + math.cos(math.pi * done)) / 2.0
        case _:
            assert_never(schedule)
    return math.floor(least + (most - least) * share + 0.5)


def clip(ranked: Sequence[Change], edits: int, tokens: int) -> tuple[Change, ...]:
    """Keep the best-ranked changes that fit both budgets; a change that is too large is passed over.

    Args:
        ranked: Changes, best first.
        edits: Most changes to keep, ≥ 0.
        tokens: Most changed tokens in all, 0 for no limit.
    """
    kept: list[Change] = []
    for change in ranked:
        used = sum(other.tokens for other in kept)
        if len(kept) < edits and (tokens == 0 or used + change.tokens <= tokens):
            kept.append(change)
    return tuple(kept)


class BudgetReached(Exception):  # noqa: N818 - an ordinary end of a run, not an error
    """The next calls would pass a cap of the run, so none of them was made."""


class CappedRunner:
    """A runner that stops before the call that would pass a cap.

    Recorded answers count like paid ones, so a rerun stops at the same call as the run it repeats.

    Args:
        runner: Where the answers come from.
        max_rollouts: Rollouts in all, 0 for no cap.
        max_calls: Optimizer calls in all, 0 for no cap.
    """

    def __init__(self, runner: Runner, max_rollouts: int, max_calls: int) -> None:
        self._runner = runner
        self._max_rollouts = max_rollouts
        self._max_calls = max_calls
        self.rollouts_asked = 0
        self.calls_asked = 0

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run rollouts, all of them or, past the cap, none."""
        self._check("rollouts", self.rollouts_asked + len(requests), self._max_rollouts)
        self.rollouts_asked += len(requests)
        return self._runner.rollouts(requests)

    def replies(self, prompts: Iterable[str]) -> tuple[Reply, ...]:
        """Ask the optimizer model, all prompts or, past the cap, none."""
        prompts = tuple(prompts)
        self._check("calls", self.calls_asked + len(prompts), self._max_calls)
        self.calls_asked += len(prompts)
        return self._runner.replies(prompts)

    @staticmethod
    def _check(what: str, wanted: int, cap: int) -> None:
        if cap and wanted > cap:
            message = f"the cap leaves {cap} {what} for training, and the next batch would make it {wanted}"
            raise BudgetReached(message)
