"""What a paid training must be asked before it begins: whether to spend, or which cap it lacks."""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from skillopt.actions.estimate import SIMULATED_RUNS, Estimated, estimate
from skillopt.errors import UsageError
from skillopt.forecast.typical_costs import is_paid
from skillopt.loop.siblings import without_siblings
from skillopt.project import Project, Selection
from skillopt.runs.plan import Start, make_plan
from skillopt.runs.recorded_success import Part, training_runs_of
from skillopt.settings import Settings
from skillopt.storage.ledger import Ledger

__all__ = ["Payment", "Spending", "foresee_night", "foresee_payment", "foresee_spending", "is_capped", "payment_of"]

_FREE = frozenset({"demo"})


@dataclass(frozen=True, slots=True)
class Spending:
    """What a training is about to spend."""

    paid: bool
    first: bool
    capped: bool
    estimated: Estimated


def foresee_spending(selection: Selection, start: Start = "auto", *, runs: int = SIMULATED_RUNS) -> Spending | None:
    """Foresee what a training spends; None where there is nothing to say.

    That is where demo programs do everything, and where such a training is recorded already and needs no cap.
    """
    plan = make_plan(selection)
    settings = plan.target.settings
    names = (settings.harness, settings.model, settings.judge or settings.model)
    identities = without_siblings(plan.identities)
    parts = list(zip(names, get_args(Part), identities, strict=False))  # there may be no judge
    if {name for name, _, _ in parts} <= _FREE:
        return None
    billed = [part for part in parts if is_paid(part[0], settings)]
    paid, capped = bool(billed), is_capped(settings)
    asked = [(part, identity) for _, part, identity in billed or parts]
    first = not _trained_before(selection.project().root, asked)
    if not first and (capped or not paid):
        return None
    return Spending(paid, first, capped, estimate(selection, start=start, runs=runs))


@dataclass(frozen=True, slots=True)
class Payment:
    """Whether a command that is no training is paid for."""

    paid: bool
    first: bool
    capped: bool


def foresee_payment(selection: Selection, *, drafts: bool) -> Payment:
    """Foresee whether a command is paid for that runs tasks of a skill and has them judged."""
    project = selection.project()
    target = project.target(selection)
    settings = target.settings
    model = [settings.model] if drafts else []
    judged = drafts or any(task.verifier.judged for _, task in target.suite().splits)
    judge = [settings.judge or settings.model] if judged else []
    return payment_of(project.root, settings, (settings.harness, *model, *judge))


def payment_of(root: Path, settings: Settings, names: Sequence[str]) -> Payment:
    """Return whether a command is paid for."""
    paid = any(is_paid(name, settings) for name in names if name)
    return Payment(paid, not (paid and _was_billed(root)), is_capped(settings))


def foresee_night(flags: Mapping[str, object], *, capped: bool) -> Payment:
    """Foresee whether a night is paid for."""
    project = Project.find(Path.cwd())
    names = tuple(project.entries) or tuple(skill.name for skill in project.discover().with_tasks)
    settings = [project.target(Selection(name, flags)).settings for name in names]
    paid = any(is_paid(name, one) for one in settings for name in (one.harness, one.model, one.judge) if name)
    return Payment(paid, not (paid and _was_billed(project.root)), capped or all(map(is_capped, settings)))


def _was_billed(root: Path) -> bool:
    with suppress(UsageError), closing(Ledger.open(root, read_only=True)) as ledger:  # there may be no ledger yet
        return ledger.was_billed()
    return False


def is_capped(settings: Settings) -> bool:
    """Return whether a cap bounds what a run, or a command, may spend."""
    return bool(settings.max_usd or settings.max_tokens or settings.max_rollouts or settings.max_minutes)


def _trained_before(root: Path, drivers: Sequence[tuple[Part, str]]) -> bool:
    """Return whether trainings are recorded in which each of some drivers had its part."""
    with suppress(UsageError), closing(Ledger.open(root, read_only=True)) as ledger:  # there may be no ledger yet
        return all(training_runs_of(ledger, part, identity) for part, identity in drivers)
    return False
