"""The question before a command spends money for the first time, and the cap that it needs without a terminal."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, get_args

import typer

from skillopt.errors import UsageError
from skillopt.forecast.estimate import Estimated, Payment, estimate, payment_of, was_billed
from skillopt.forecast.typical_costs import is_paid
from skillopt.project import Project, Selection
from skillopt.runs.plan import Start, make_plan
from skillopt.runs.recorded import Part, training_runs_of
from skillopt.storage.ledger import Ledger

_FREE = frozenset({"demo"})
_DECLINED: Final = 130
"""As after Ctrl-C: the user ended it."""


def foresee_spending(selection: Selection, start: Start = "auto") -> tuple[Payment, Estimated] | None:
    """Foresee what a training spends and how it is paid for; None for demos and for recorded runs that need no cap."""
    plan = make_plan(selection)
    settings = plan.target.settings
    names = (settings.harness, settings.model, settings.judge or settings.model)
    parts = list(zip(names, get_args(Part), plan.identities, strict=False))  # there may be no judge
    if {name for name, _, _ in parts} | {settings.reviewer or "demo"} <= _FREE:
        return None
    billed = [part for part in parts if is_paid(part[0], settings)]
    paid, capped = bool(billed) or is_paid(settings.reviewer or "demo", settings), settings.capped
    asked = [(part, identity) for _, part, identity in billed or parts]
    first = not _trained_before(selection.project().root, asked)
    if not first and (capped or not paid):
        return None
    return Payment(paid, first, capped), estimate(selection, start=start)


def foresee_payment(selection: Selection, *, drafts: bool) -> Payment:
    """Foresee whether a command is paid for that runs tasks of a skill and has them judged."""
    project = selection.project()
    target = project.target(selection)
    settings = target.settings
    model = [settings.model] if drafts else []
    judged = drafts or any(task.verifier.judged for _, task in target.suite().splits)
    judge = [settings.judge or settings.model] if judged else []
    return payment_of(project.root, settings, (settings.harness, *model, *judge))


def foresee_night(flags: Mapping[str, object], *, capped: bool) -> Payment:
    """Foresee whether a night is paid for."""
    project = Project.find(Path.cwd())
    names = tuple(project.entries) or tuple(skill.name for skill in project.discover().with_tasks)
    settings = [project.target(Selection(name, flags)).settings for name in names]
    paid = any(
        is_paid(name, one) for one in settings for name in (one.harness, one.model, one.judge, one.reviewer) if name
    )
    return Payment(paid, not (paid and was_billed(project.root)), capped or all(one.capped for one in settings))


def _trained_before(root: Path, drivers: Sequence[tuple[Part, str]]) -> bool:
    """Return whether trainings are recorded in which each of some drivers had its part."""
    with suppress(UsageError), closing(Ledger.open(root, read_only=True)) as ledger:  # there may be no ledger yet
        return all(training_runs_of(ledger, part, identity) for part, identity in drivers)
    return False


def can_ask() -> bool:
    """Return whether somebody sits at a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _confirm() -> None:
    if not typer.confirm("go on?", err=True):
        typer.echo("nothing was spent", err=True)
        raise typer.Exit(_DECLINED)


def ask_to_pay(payment: Payment, what: str, *, yes: bool) -> None:
    """Ask on a terminal before money is spent for the first time; elsewhere a command that is paid for needs a cap."""
    if yes or not payment.paid:
        return
    if can_ask():
        if payment.first:
            typer.echo(f"this is paid for: {what}", err=True)
            _confirm()
    elif not payment.capped:
        message = f"expected a cap for a command that is paid for ({what}), found none, and no terminal to ask"
        raise UsageError(f"{message}; add --max-usd or --max-rollouts, or --yes to spend without a cap")


def ask_to_train(selection: Selection, start: Start, *, yes: bool, quiet: bool) -> None:
    """Print what a training is likely to take, and ask before money is spent for the first time."""
    spending = foresee_spending(selection, start)
    if spending is None:
        return
    payment, estimated = spending
    if estimated.missing:
        raise UsageError(estimated.missing)
    line = estimated.likely.words
    asks, terminal = payment.paid and not yes, can_ask()
    if asks and not terminal and not payment.capped:
        raise UsageError(
            f"expected a cap for a run that is paid for, found none, and no terminal to ask; it is likely to take "
            f"{line}; add {estimated.cap} or --max-usd, or --yes to spend without a cap"
        )
    asked = asks and terminal and payment.first
    if asked or not quiet:
        typer.echo(f"likely: {line}", err=True)
    if asked:
        _confirm()
