"""The user action `estimate`: what `optimize` would ask for, before anything is spent."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from skillopt.commands.prospect import Prospect, describe_earlier_runs, what_it_can_show
from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.drivers import load_drivers
from skillopt.gate.gate import BASELINE_TASKS, GATE_ROUNDS
from skillopt.loop.edit_budget import scheduled_edits
from skillopt.loop.minibatches import MERGE_SIZE
from skillopt.loop.rollout_plan import settle_folds
from skillopt.project import Selection, Target
from skillopt.settings import GateRule, Settings
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite

__all__ = ["Cost", "Estimated", "estimate"]


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
    """Bounds on a run; the caps of the settings are applied.

    Args:
        skill: Name of the skill.
        tasks: Tasks in train, val and test; with folds all of them are in train and in val.
        steps: Steps of the whole run.
        edits: Edit budget of each step.
        least_rollouts: Rollouts if no candidate ever reaches the gate.
        most_rollouts: Rollouts if every step gates a candidate.
        most_calls: Optimizer calls if every reply is readable at once.
        prospect: What the run could show, simulated.
        earlier: What earlier runs with another preset on the same tasks mean; empty when there were none.
        cost: What it could cost; None when target or model cannot be loaded.
    """

    skill: str
    tasks: tuple[int, int, int]
    steps: int
    edits: tuple[int, ...]
    least_rollouts: int
    most_rollouts: int
    most_calls: int
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
    settings, tasks = target.settings, target.suite()
    prospect = what_it_can_show(tasks, settings)
    if not prospect.can_show:
        raise UsageError(prospect.words)
    settled = settle_folds(tasks, settings)
    train, val, test = (len(settled.tasks(split)) for split in Split)
    train = train or val
    per_epoch = -(-train // settings.batch_size)
    steps = per_epoch * settings.epochs * settings.reflections
    fixed = min(val, BASELINE_TASKS) * settings.baseline_repeats + train * settings.epochs
    fixed += max(0, settings.epochs - 1) * 2 * min(settings.slow_tasks, train)
    most = fixed + _most_tries(settings, steps) + _most_gates(settings, per_epoch) * _gate(settings, val) + 2 * test
    if settings.baseline_repeats > 1 and settings.screen_rollouts and settings.trust_noise:
        most += (val - min(val, BASELINE_TASKS)) * settings.baseline_repeats
    cap = settings.max_rollouts or most
    calls = min(_most_calls(settings, train), settings.max_calls or 10**9)
    return Estimated(
        target.name,
        (train, val, test),
        steps,
        tuple(scheduled_edits(step, steps, settings.edit_budget, settings.min_edits) for step in range(1, steps + 1)),
        min(fixed, cap),
        min(most, cap),
        calls,
        prospect,
        _earlier_runs(project.root, target, tasks),
        _cost(project.root, target, (min(fixed, cap), min(most, cap)), calls),
    )


def _most_tries(settings: Settings, steps: int) -> int:
    """Count rollouts of screens if every step fills its edit budget and every edit takes all its repeats."""
    return 2 * settings.screen_rollouts * settings.edit_budget * steps


def _most_gates(settings: Settings, per_epoch: int) -> int:
    """Count gates if one is due after every batch; slow updates have their own."""
    return per_epoch * settings.epochs + (settings.epochs - 1 if settings.slow_tasks else 0)


def _gate(settings: Settings, val: int) -> int:
    """Count the rollouts of one gate that is not decided early."""
    sides = 1 if settings.gate is GateRule.STRICT else 2
    return sides * val * (GATE_ROUNDS if settings.gate is GateRule.SEQUENTIAL else 1)


def _earlier_runs(root: Path, target: Target, suite: Suite) -> str:
    try:
        with closing(Ledger.open(root, read_only=True)) as ledger:
            return describe_earlier_runs(ledger, target.name, suite, target.settings)
    except SkilloptError:
        return ""  # there is no ledger yet


def _cost(root: Path, target: Target, rollouts: tuple[int, int], calls: int) -> Cost | None:
    """Foresee the cost: fewest rollouts and no call at the low mean, all of both at the high one."""
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
    rollout: tuple[float, float], rollouts: tuple[int, int], call: tuple[float, float], calls: int
) -> tuple[float, float]:
    """Multiply means, two standard errors to either side."""
    (mean, error), (call_mean, call_error) = rollout, call
    low = rollouts[0] * max(0.0, mean - 2 * error)
    return low, rollouts[1] * (mean + 2 * error) + calls * (call_mean + 2 * call_error)


def _most_calls(settings: Settings, train: int) -> int:
    """Count calls if failures and successes both fill their minibatches and every step must rank."""
    if not settings.minibatch_size:  # one prompt a reading, without successes, merges and ranking
        return train * max(1, settings.patch_tests) * settings.proposal_groups
    total = 0
    for start in range(0, train, settings.batch_size):
        batch = min(settings.batch_size, train - start)
        level = reflections = -(-batch // settings.minibatch_size) + 1
        merges = 1
        while level > 1:
            level = -(-level // MERGE_SIZE)
            merges += level
        total += (reflections + merges) * settings.proposal_groups + 2
    updates = 2  # guidance and notes
    return total * settings.epochs * settings.reflections + (
        updates * (settings.epochs - 1) if settings.slow_tasks else 0
    )
