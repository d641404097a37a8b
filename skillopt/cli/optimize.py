"""The command `optimize`: its options, and its result as text."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption, QuietOption, RunOptions, SkillArgument, StartOption, with_run_options
from skillopt.cli.output import format_usage, interruptible, show

if TYPE_CHECKING:
    from skillopt.commands.optimize import Optimized
    from skillopt.project import Selection
    from skillopt.runs.plan import Start

__all__ = ["optimize"]


@with_run_options
def optimize(
    skill: SkillArgument = None,
    *,
    options: RunOptions,
    start: StartOption = "auto",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking, with or without a cap.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train the skill, or go on with a run.

    The same command continues a run that was interrupted; recorded answers are never paid for again. Before money is
    spent for the first time, a terminal is asked; without a terminal a paid run needs a cap, or --yes.
    """
    from skillopt.cli.progress import ProgressObserver
    from skillopt.commands.optimize import optimize as run

    selection = options.select(skill)
    _ask_to_spend(selection, start, yes=yes, quiet=quiet)
    with interruptible(), ProgressObserver(quiet=quiet, max_rollouts=options.max_rollouts or 0) as observer:
        found = run(selection, start=start, observer=observer)
    show(found, _text, as_json=as_json)


def _ask_to_spend(selection: "Selection", start: "Start", *, yes: bool, quiet: bool) -> None:
    """Say what a run will take where somebody pays or waits for it, and ask before the first money is spent.

    Raises:
        UsageError: It is paid, has no cap, and there is no terminal to ask.
    """
    from skillopt.cli.estimate import foresight_line
    from skillopt.commands.spending import foresee_spending
    from skillopt.errors import UsageError

    spending = foresee_spending(selection, start)
    if spending is None:
        return
    line = foresight_line(spending.estimated)
    asks = spending.paid and not yes
    terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if asks and not terminal and not spending.capped:
        message = (
            f"expected a cap for a run that is paid for, found none, and no terminal to ask; it is likely to take "
            f"{line}; add {spending.estimated.cap} or --max-usd, or --yes to spend without a cap"
        )
        raise UsageError(message)
    if not quiet:
        typer.echo(f"likely: {line}", err=True)
    if asks and terminal and spending.first and not typer.confirm("go on?", err=True):
        typer.echo("nothing was spent", err=True)
        raise typer.Exit(1)


def _text(result: "Optimized") -> str:
    lines = [f"{'continued' if result.resumed else 'ran'} {result.run} on {result.skill}: {result.reason}"]
    if result.test is None:
        kept = f"{len(result.versions)} versions on branch {result.branch}, not tested"
        kept += f": {result.withheld}" if result.withheld else ""
        lines.append(kept if result.versions else "no version was accepted; the skill is as it was")
    else:
        test = result.test
        lines.append(f"held-out test score: {test.before.score:.3f} -> {test.after.score:.3f}")
        lines.append(f"held-out test passed: {test.before.passed:.0%} -> {test.after.passed:.0%}")
        lines.append(f"test verdict: {test.verdict.outcome.value}, {test.verdict.reason}")
        lines.append(f"{len(result.versions)} versions on branch {result.branch}, newest {result.versions[-1][:10]}")
    lines.append(
        f"asked: {result.rollouts} rollouts, {result.calls} optimizer calls; "
        f"newly run: {result.paid_rollouts} rollouts, {result.paid_calls} calls, the rest was recorded"
    )
    lines += [f"spent by the {role}: {format_usage(usage)}" for role, usage in result.spent.items()]
    return "\n".join([*lines, *_next(result)])


def _next(result: "Optimized") -> Iterator[str]:
    """Say where the draft is and what was shown of it, and the commands to go on with."""
    from skillopt.gate.grade_words import grade_words

    skill, draft = result.skill, result.draft
    if draft is not None and draft.commit:
        yield f"draft on branch {draft.branch}, {grade_words(draft.grading)}"
        yield f"next: skillopt diff {skill} draft; to make it a version: skillopt take {skill}"
    elif draft is not None:
        yield f"the draft was not published: {draft.note}"
    if result.versions:
        yield f"look further: skillopt log {skill}; skillopt diff {skill}; skillopt report {result.run}"
