"""The user action `optimize`: begin or continue a run of the loop.

Owns refusing a cap that allows nothing, and what a run came to. Does not own the loop (loop.optimizer), where a
run starts (runs.plan) or how it is kept (runs.run).
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from skillopt.errors import SettingsError
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RunObserver
from skillopt.gate.gate import BASELINE_TASKS
from skillopt.loop.events import HeldOutTestMeasured, ReleaseCheckWithheld
from skillopt.loop.optimizer import train
from skillopt.project import Selection
from skillopt.rollouts import Usage
from skillopt.runs.plan import RunPlan, Start, begin_run, make_plan
from skillopt.runs.releases import released_of
from skillopt.runs.run import RecordedRun
from skillopt.settings import GateRule
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.tasks import Split

__all__ = ["Optimized", "optimize"]


@dataclass(frozen=True, slots=True)
class Optimized:
    """What a run came to.

    Args:
        run: Id of the run.
        skill: Name of the skill.
        branch: Where the versions are.
        versions: Commits of this run, oldest first.
        reason: Why the run ended.
        test: The release check on the held-out test, None when nothing was accepted or it was withheld.
        withheld: Why it was withheld; empty when it was not.
        rollouts: Rollouts asked for.
        calls: Optimizer calls asked for.
        paid_rollouts: Of those, how many this command ran itself.
        paid_calls: Of those, how many this command made itself.
        resumed: Whether an interrupted run went on.
        spent: What each role consumed in this command.
    """

    run: str
    skill: str
    branch: str
    versions: tuple[str, ...]
    reason: str
    test: HeldOutTestMeasured | None
    withheld: str
    rollouts: int
    calls: int
    paid_rollouts: int
    paid_calls: int
    resumed: bool
    spent: Mapping[str, Usage]


def optimize(
    selection: Selection, *, start: Start = "auto", observer: RunObserver | None = None, allowance: Meter | None = None
) -> Optimized:
    """Train a skill, or continue the training that was interrupted.

    Args:
        selection: The skill, its suite and settings.
        start: Which text to begin with when work tree and branch differ.
        observer: Follows the run.
        allowance: Caps what this command alone pays for, and is no part of the run; None for no such cap.

    Raises:
        UsageError: Something is missing or wrong; nothing was spent.
        BusyError: Another run trains this skill.
        InvalidMeasurementError: Too little could be measured; the same command continues.
    """
    plan = make_plan(selection, allowance=allowance)
    _check_cap(plan)
    root, name = selection.project().root, plan.target.name
    with writer_lock(root, name), closing(Ledger.open(root)) as ledger:
        record, resumed = begin_run(plan, ledger, start)
        run = RecordedRun(plan, ledger, record, observer or RunObserver())
        released = released_of(plan, ledger, record)
        loop = train(run.skill, plan.suite, plan.target.settings, run.runner, released)
        events, ended = run.drive(loop)
    return Optimized(
        record.id,
        name,
        f"skillopt/{name}",
        tuple(run.commits),
        ended.reason,
        next((event for event in events if isinstance(event, HeldOutTestMeasured)), None),
        next((event.reason for event in events if isinstance(event, ReleaseCheckWithheld)), ""),
        ended.rollouts,
        ended.calls,
        run.runner.paid_rollouts,
        run.runner.paid_calls,
        resumed,
        plan.drivers.meter.by_role,
    )


def _check_cap(plan: RunPlan) -> None:
    """Refuse a cap under which no candidate could ever be gated, before anything is spent."""
    settings = plan.target.settings
    train, val, test = (len(plan.suite.tasks(split)) for split in Split)
    gate = val * (1 if settings.gate is GateRule.STRICT else 2)
    baseline = min(val, BASELINE_TASKS) * settings.baseline_repeats
    least = baseline + min(settings.batch_size, train) + gate + 2 * test
    if 0 < settings.max_rollouts < least:
        message = (
            f"expected max_rollouts of at least {least} (baseline, one batch, one gate, held-out test), "
            f"found {settings.max_rollouts}; see `skillopt estimate`"
        )
        raise SettingsError(message)
