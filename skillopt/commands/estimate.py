"""The user action `estimate`: what `optimize` would ask for, before anything is spent."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.commands.prospect import Prospect, describe_earlier_runs, what_it_can_show
from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.drivers import load_drivers
from skillopt.gate.gate import GATE_ROUNDS
from skillopt.loop.minibatches import MERGE_SIZE
from skillopt.loop.rollout_plan import plan_rollouts, settle_folds
from skillopt.project import Selection, Target
from skillopt.settings import GateRule, Settings
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite

__all__ = ["Cost", "Estimated", "estimate"]

_ROLLOUTS_A_TASK: Final = (5, 16)
_FEWEST_CALLS, _CALLS_OF_FEW, _CALLS_A_TASK = 3, 12, 0.6
"""What lay between the first and the last tenth of 228 simulated runs of the default loop to their own end, in 19
worlds with 8 to 96 tasks: rollouts for each train task beyond the baseline, and optimizer calls."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run could cost, from what recorded calls of the same target and model did.

    Args:
        measured_rollouts: Rollouts that were measured; with none, nothing is known.
        measured_calls: Optimizer calls that were measured.
        tokens: From and to.
        usd: From and to in US dollars, None when some price is not known.
    """

    measured_rollouts: int
    measured_calls: int
    tokens: tuple[int, int]
    usd: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Estimated:
    """What a run takes; the caps of the settings are applied.

    Args:
        skill: Name of the skill.
        tasks: Tasks in train, val and test; with folds all of them are in train and in val.
        rollouts: Fewest and most rollouts.
        calls: Fewest and most optimizer calls.
        bounds: Whether these are bounds; else four of five simulated runs lie between them.
        prospect: What the run could show, simulated.
        earlier: What earlier runs with another preset on the same tasks mean; empty when there were none.
        cost: What it could cost; None when target or model cannot be loaded.
    """

    skill: str
    tasks: tuple[int, int, int]
    rollouts: tuple[int, int]
    calls: tuple[int, int]
    bounds: bool
    prospect: Prospect
    earlier: str
    cost: Cost | None


def estimate(selection: Selection) -> Estimated:
    """Compute what a run could take; runs nothing and spends nothing.

    Raises:
        UsageError: Something is missing or wrong, or the suite can show nothing; the message says what would do.
    """
    project = selection.project()
    target = project.target(selection)
    target.skill()
    settings, suite = target.settings, target.suite()
    prospect = what_it_can_show(suite, settings)
    if not prospect.can_show:
        raise UsageError(prospect.words)
    settled = settle_folds(suite, settings)
    train, val, test = (len(settled.tasks(split)) for split in Split)
    tasks = (train or val, val, test)
    rollouts, calls = _likely(settled, settings) if settings.patch_tests else _published(settings, tasks)
    cap, most_calls = settings.max_rollouts or rollouts[1], settings.max_calls or calls[1]
    rollouts = min(rollouts[0], cap), min(rollouts[1], cap)
    calls = min(calls[0], most_calls), min(calls[1], most_calls)
    return Estimated(
        target.name,
        tasks,
        rollouts,
        calls,
        not settings.patch_tests,
        prospect,
        _earlier_runs(project.root, target, suite),
        _cost(project.root, target, rollouts, calls),
    )


def _likely(suite: Suite, settings: Settings) -> tuple[tuple[int, int], tuple[int, int]]:
    """Give the rollouts and the calls that four of five simulated runs take, the held-out test on top."""
    plan, train = plan_rollouts(suite, settings), len(suite.tasks(Split.TRAIN)) or len(suite.splits)
    fixed = plan.baseline + plan.test
    least, most = (fixed + share * train for share in _ROLLOUTS_A_TASK)
    return (least, most), (_FEWEST_CALLS, max(_CALLS_OF_FEW, round(_CALLS_A_TASK * train)))


def _published(settings: Settings, tasks: tuple[int, int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Give bounds of the published loop: from no candidate at all to one that is gated in every step."""
    train, val, test = tasks
    steps = -(-train // settings.batch_size) * settings.epochs
    fixed = val * settings.baseline_repeats + train * settings.epochs
    updates = settings.epochs - 1 if settings.slow_tasks else 0
    fixed += updates * 2 * min(settings.slow_tasks, train)
    gate = val * (1 if settings.gate is GateRule.STRICT else 2 * GATE_ROUNDS)
    return (fixed, fixed + (steps + updates) * gate + 2 * test), (steps, _most_calls(settings, train))


def _earlier_runs(root: Path, target: Target, suite: Suite) -> str:
    try:
        with closing(Ledger.open(root, read_only=True)) as ledger:
            return describe_earlier_runs(ledger, target.name, suite, target.settings)
    except SkilloptError:
        return ""  # there is no ledger yet


def _cost(root: Path, target: Target, rollouts: tuple[int, int], calls: tuple[int, int]) -> Cost | None:
    """Foresee the cost: the fewest of both at the low means, the most at the high ones."""
    try:
        drivers = load_drivers(target.settings, target.suite(), root)
        with closing(Ledger.open(root, read_only=True)) as ledger:
            done = ledger.mean_cost(drivers.target_identity)
            asked = ledger.mean_cost(drivers.model.identity) if drivers.model else None
    except SkilloptError:
        return None
    if done is None:
        return Cost(0, 0, (0, 0), None)
    low, high = _range(done.tokens, rollouts, asked.tokens if asked else (0.0, 0.0), calls)
    priced = done.usd is not None and (asked is None or asked.usd is not None)
    usd = _range(done.usd or (0.0, 0.0), rollouts, (asked.usd if asked else None) or (0.0, 0.0), calls)
    return Cost(done.calls, asked.calls if asked else 0, (round(low), round(high)), usd if priced else None)


def _range(
    rollout: tuple[float, float], rollouts: tuple[int, int], call: tuple[float, float], calls: tuple[int, int]
) -> tuple[float, float]:
    """Multiply means, two standard errors to either side."""
    (mean, error), (call_mean, call_error) = rollout, call
    low = rollouts[0] * max(0.0, mean - 2 * error) + calls[0] * max(0.0, call_mean - 2 * call_error)
    return low, rollouts[1] * (mean + 2 * error) + calls[1] * (call_mean + 2 * call_error)


def _most_calls(settings: Settings, train: int) -> int:
    """Count calls if failures and successes both fill their minibatches and every step must rank."""
    total = 0
    for start in range(0, train, settings.batch_size):
        batch = min(settings.batch_size, train - start)
        if not settings.minibatch_size:  # what does not fit one prompt is halved, and there is nothing to merge
            total += batch * settings.proposal_groups
            continue
        level = reflections = -(-batch // settings.minibatch_size) + 1
        merges = 1
        while level > 1:
            level = -(-level // MERGE_SIZE)
            merges += level
        total += (reflections + merges) * settings.proposal_groups + 2
    updates = 2  # guidance and notes
    return total * settings.epochs + (updates * (settings.epochs - 1) if settings.slow_tasks else 0)
