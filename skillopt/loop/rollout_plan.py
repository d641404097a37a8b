"""Share the cap on rollouts between baseline, learning, gate and test, and say whether folds can be paid for."""

import math
from dataclasses import dataclass
from typing import Final

from skillopt.gate.gate import BASELINE_TASKS
from skillopt.settings import GateRule, Settings
from skillopt.tasks import Split, Suite

_MOST: Final = 4
"""Baseline and gate take at most the fourth part of a cap, and so does the held-out test: learning needs the rest."""

_PROVEN_FROM: Final = 4
"""Rollouts a task for each round of proof that is kept where all tasks teach; below, learning is worth more."""

_KEPT_ROUNDS: Final = 2  # of proof: most of what is shown at all is shown by the first
_LEAST_FOR_DRAFT: Final = 1.5  # rollouts a task: each once, and a patch on the half that fails


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """How many rollouts of a cap, if there is one, are for what."""

    baseline: int
    gate: int
    test: int
    cap: int | None

    @property
    def learning(self) -> int | None:
        """What is left of the cap; None without one."""
        return None if self.cap is None else max(0, self.cap - self.baseline - self.gate - self.test)


def plan_rollouts(suite: Suite, settings: Settings) -> RolloutPlan:
    """Share the cap of a run."""
    val, test = len(suite.tasks(Split.VAL)), 2 * len(suite.tasks(Split.TEST))
    cap = settings.max_rollouts
    if settings.gate is GateRule.STRICT:
        # It compares with the recorded baseline, so it needs every task on both sides.
        return RolloutPlan(val, val, test, cap)
    baseline, gate = min(val, BASELINE_TASKS), 2 * val
    if cap is None:
        return RolloutPlan(baseline, gate, test, None)
    most = cap // _MOST
    if suite.folds:
        # The baseline is the first rollout of every task, which learning needs anyway; proof takes one more of each in
        # its first round, and two in each later one.
        rounds = min(_KEPT_ROUNDS, cap // (_PROVEN_FROM * val))
        baseline, gate = min(val, cap), max(0, 2 * rounds - 1) * val
    else:
        # The gate comes first: a draft that cannot be judged is worth less than one that was measured against noise.
        gate = min(gate, max(1, most - min(val, most // 3)))
        baseline = min(baseline, most - gate)
    return RolloutPlan(baseline, gate, test if test <= most else 0, cap)


def least_rollouts(suite: Suite, settings: Settings) -> int:
    """Return the smallest cap that has room for a baseline, one batch and one gate on all of `val`.

    Where all tasks teach it is a patch test on half of them: the draft is then handed over with its probability.
    """
    if settle_folds(suite, settings).folds:
        return math.ceil(_LEAST_FOR_DRAFT * len(suite.splits))
    cap = 1
    while True:
        capped = settings.model_copy(update={"max_rollouts": cap})
        settled = settle_folds(suite, capped)
        plan, sides = plan_rollouts(settled, capped), 1 if settings.gate is GateRule.STRICT else 2
        taught = len(settled.tasks(Split.TRAIN))
        wanted = min(settings.batch_size, taught) + sides * len(settled.tasks(Split.VAL)) + plan.baseline + plan.test
        if wanted <= cap:
            return cap
        cap = wanted if settings.gate is GateRule.STRICT else cap + 1


def settle_folds(suite: Suite, settings: Settings) -> Suite:
    """Return the suite as a run can use it: few tasks all teach and judge, where a gate measures afresh."""
    return suite.first_fold_suite if suite.folds and settings.gate is not GateRule.SEQUENTIAL else suite
