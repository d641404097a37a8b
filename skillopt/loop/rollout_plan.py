"""Share the cap on rollouts between baseline, learning, gate and test, and say whether folds can be paid for."""

from dataclasses import dataclass, replace
from typing import Final

from skillopt.gate.gate import BASELINE_TASKS
from skillopt.settings import GateRule, Settings
from skillopt.tasks import Split, Suite

ROLLOUTS_FOR_FOLDS: Final = 5
"""Rollouts a task from which folds hand over more than fixed halves, with 12 as with 40 tasks: with 4, neither half is
learnt from long enough (60 simulated runs a cell)."""

LEAST_TAUGHT: Final = 8  # train tasks that the smallest run learns from
SECOND_FOLD: Final = " fold 2"
"""Ends the configuration of a proposal whose edits were derived from the second of two folds."""

_MOST: Final = 4
"""Baseline and gate take at most the fourth part of a cap, and so does the held-out test: learning needs the rest."""

_MOST_OF_FOLDS: Final = 2
"""With two folds the gate takes at most half: under a third, with 5 rollouts a task, the merged text was never run in
half of the runs (`clash-20` at cap 100, 20 seeds)."""


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """How many rollouts are for what; what is left is for learning."""

    baseline: int
    gate: int
    test: int
    learning: int | None


def plan_rollouts(suite: Suite, settings: Settings) -> RolloutPlan:
    """Share the cap of a run."""
    val, test = len(suite.tasks(Split.VAL)), 2 * len(suite.tasks(Split.TEST))
    cap = settings.max_rollouts
    if settings.gate is GateRule.STRICT:
        # It compares with the recorded baseline, so it needs every task on both sides.
        return _with_learning(RolloutPlan(val, val, test, None), cap)
    baseline, gate = min(val, BASELINE_TASKS), 2 * val
    if cap is None:
        return RolloutPlan(baseline, gate, test, None)
    most = cap // _MOST
    if suite.folds:
        # The baseline is the first rollout of every task, which learning would need anyway; the drafts of both folds
        # are run crosswise, and the merged text as a whole.
        baseline, gate = min(val, cap), min(gate, cap // _MOST_OF_FOLDS)
    else:
        # The gate comes first: a draft that cannot be judged is worth less than one that was measured against noise.
        gate = min(gate, max(1, most - min(val, most // 3)))
        baseline = min(baseline, most - gate)
    return _with_learning(RolloutPlan(baseline, gate, test if test <= most else 0, None), cap)


def _with_learning(plan: RolloutPlan, cap: int | None) -> RolloutPlan:
    """Leave all else under a cap to learning."""
    return plan if cap is None else replace(plan, learning=max(0, cap - plan.baseline - plan.gate - plan.test))


def least_rollouts(suite: Suite, settings: Settings) -> int:
    """Return the smallest cap that has room for a baseline, one batch and one gate on all of `val`."""
    cap = 1
    while True:
        capped = settings.model_copy(update={"max_rollouts": cap})
        settled = settle_folds(suite, capped)
        plan, sides = plan_rollouts(settled, capped), 1 if settings.gate is GateRule.STRICT else 2
        taught = max(len(settled.tasks(Split.TRAIN)), len(settled.folds[0]) if settled.folds else 0)
        batch = min(LEAST_TAUGHT if settings.patch_tests else settings.batch_size, taught)
        wanted = batch + sides * len(settled.tasks(Split.VAL)) + plan.baseline + plan.test
        if wanted <= cap:
            return cap
        cap = wanted if settings.gate is GateRule.STRICT else cap + 1


def settle_folds(suite: Suite, settings: Settings) -> Suite:
    """Return the suite as a run can use it: with folds where gate and cap allow, else with one as `train`."""
    if suite.folds is None:
        return suite
    few = settings.max_rollouts is not None and settings.max_rollouts < ROLLOUTS_FOR_FOLDS * len(suite.splits)
    return suite.first_fold_suite if few or settings.gate is not GateRule.SEQUENTIAL else suite
