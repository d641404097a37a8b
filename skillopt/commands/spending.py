"""The question before a command spends money for the first time, and the cap that it needs without a terminal."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import typer

from skillopt.errors import UsageError
from skillopt.execution.interrupts import EXIT_INTERRUPTED
from skillopt.project import Project, Selection
from skillopt.runs.forecast import Estimate, estimate, is_paid
from skillopt.runs.plan import make_plan
from skillopt.settings import Settings
from skillopt.storage.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Payment:
    """Whether a command is paid for, for the first time, and under a cap."""

    paid: bool
    first: bool
    capped: bool


def payment_of(root: Path, settings: Settings, names: Sequence[str]) -> Payment:
    """Return whether a command is paid for that uses some drivers."""
    billed = False
    with suppress(UsageError), closing(Ledger.open(root, read_only=True)) as ledger:  # there may be no ledger yet
        billed = ledger.was_billed()
    return Payment(is_paid(",".join(names), settings), not billed, settings.capped)


def foresee_payment(selection: Selection, *, drafts: bool) -> Payment:
    """Foresee whether a command is paid for that runs tasks of a skill and has them judged."""
    target = selection.project().target(selection)
    settings = target.settings
    judged = drafts or any(task.verifier.judged for _, task in target.suite().splits)
    judge = settings.judge or settings.model if judged else ""
    return payment_of(selection.project().root, settings, (settings.harness, settings.model if drafts else "", judge))


def foresee_night(flags: Mapping[str, object], *, capped: bool) -> Payment:
    """Foresee whether a night is paid for."""
    project = Project.find(Path.cwd())
    names = project.entries or [skill.name for skill in project.discover() if skill.suite]
    settings = [project.target(Selection(name, flags)).settings for name in names]
    each = [payment_of(project.root, one, _drivers(one)) for one in settings]
    paid, first = any(one.paid for one in each), all(one.first for one in each)
    return Payment(paid, first, capped or all(one.capped for one in each))


def _drivers(settings: Settings) -> tuple[str, ...]:
    return settings.harness, settings.judge, settings.model, settings.reviewer


def foresee_training(selection: Selection) -> tuple[Payment, Estimate]:
    """Foresee what a training takes, and whether somebody is billed for calls of which none are recorded yet."""
    settings = make_plan(selection).target.settings  # refuses what cannot be trained
    found = estimate(selection)
    roles = f"{settings.harness},{settings.judge}", f"{settings.model},{settings.reviewer}"
    billed = [cost for names, cost in zip(roles, found.costs, strict=True) if is_paid(names, settings)]
    return Payment(bool(billed), not all(cost.recorded for cost in billed or found.costs), settings.capped), found


def can_ask() -> bool:
    """Return whether somebody sits at a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_to_pay(payment: Payment, what: str, *, yes: bool, cap: str = "--max-rollouts") -> bool:
    """Ask on a terminal before money is spent for the first time; elsewhere a command that is paid for needs a cap."""
    if yes or not payment.paid:
        return False
    if not can_ask():
        if payment.capped:
            return False
        message = f"expected a cap for a command that is paid for ({what}), found none, and no terminal to ask"
        raise UsageError(f"{message}; add {cap} or --max-usd, or --yes to spend without a cap")
    if payment.first:
        typer.echo(f"this is paid for: {what}", err=True)
        if not typer.confirm("go on?", err=True):
            typer.echo("nothing was spent", err=True)
            raise typer.Exit(EXIT_INTERRUPTED)
    return payment.first


def ask_to_train(selection: Selection, *, yes: bool, quiet: bool) -> None:
    """Say what a training is likely to take where that is new, and ask before money is spent for the first time."""
    settings = selection.project().target(selection).settings
    if set(_drivers(settings)) <= {"", "demo"}:
        return
    payment, found = foresee_training(selection)
    if found.missing:
        raise UsageError(found.missing)
    asked = ask_to_pay(payment, found.likely.words, yes=yes, cap=found.cap)
    if not asked and not quiet and (payment.first or not payment.capped):
        typer.echo(f"likely: {found.likely.words}", err=True)
