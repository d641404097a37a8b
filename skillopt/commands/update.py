"""The command `update`: a new upstream text of a skill, with what was learned before, measured and published."""

from collections.abc import Iterator
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, QuietOption, RunOptions, SkillArgument, YesOption, with_run_options
from skillopt.commands.output import SHORT, as_json_text, format_usage, interruptible, list_tasks
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import ask_to_pay, foresee_payment
from skillopt.gate.grades import grade_words
from skillopt.project import Selection
from skillopt.reports.blocks import difference_blocks
from skillopt.reports.terminal import print_terminal
from skillopt.runs.history import compare_versions, difference_of_files
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.shrink.reapplied import least_for_update
from skillopt.shrink.shrinking import shrink_tasks
from skillopt.shrink.update import Updated, UpdateRow, plan_update
from skillopt.shrink.update import update as run

__all__ = ["update"]

_WIDEST: Final = 100


@with_run_options
def update(
    skill: SkillArgument = None,
    *,
    onto: Annotated[str, typer.Option("--onto", metavar="PATH|REVISION", help="Skill folder or revision to move to.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what becomes of each edit; run nothing.")
    ] = False,
    options: RunOptions,
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Move what was learned to a new upstream text of the skill.

    Learned edits are applied to it one by one; those that no task needs any more are left out. What is left becomes a
    version if no tasks are lost against the old one and some are won against the new upstream alone, else a draft.
    """
    selection = options.select(skill)
    planned = plan_update(selection, onto)
    found = planned.result
    if not dry_run:
        least = least_for_update(len(shrink_tasks(planned.plan.suite)))
        ask_to_pay(foresee_payment(selection, drafts=False), f"at least {least} rollouts", yes=yes)
        with interruptible(), ProgressObserver(quiet=quiet) as observer:
            found = run(planned, observer)
    typer.echo(as_json_text(found) if as_json else "\n".join(_lines(found, selection)))


def _lines(found: Updated, selection: Selection) -> Iterator[str]:
    yield f"{found.skill}: {found.base[:SHORT]} → upstream {found.upstream[: SHORT + 6]}"
    yield from (_row(row) for row in found.rows)
    yield from (f"not carried over: {escape_terminal(note)}" for note in found.notes)
    if not found.run:
        yield "nothing was run (--dry-run); without it, ablation decides about what is applied"
        return
    yield f"run {found.run}: {escape_terminal(found.reason)}"
    draft = found.draft
    if made := found.version or (draft.commit if draft else ""):
        sides = compare_versions(selection, found.base, made)
        if shown := difference_blocks(difference_of_files(sides.old, sides.new)):
            yield print_terminal(shown)
    yield f"asked: {found.rollouts} rollouts, {found.paid_rollouts} newly run"
    yield from (f"spent by the {role}: {format_usage(usage)}" for role, usage in (found.spent or {}).items())
    if found.version:
        yield f"version {found.version[:SHORT]} on branch skillopt/{found.skill}"
        yield f"next: git merge skillopt/{found.skill}    (read it first: skillopt diff {found.skill})"
    elif draft is not None and draft.commit:
        yield f"draft on branch {draft.branch}: {grade_words(draft.grading)}"
        yield from (f"  a person must look at it first: {escape_terminal(mark)}" for mark in draft.marks)
        take = f"skillopt take {found.skill}    (read it first: " if draft.offered else ""
        yield f"next: {take}skillopt diff {found.skill} draft{')' if take else ''}"
    else:
        yield f"nothing was published{f': {escape_terminal(draft.note)}' if draft else ''}"


def _row(row: UpdateRow) -> str:
    tasks = f" ({list_tasks(row.tasks)})" if row.tasks else ""
    why = escape_terminal(truncate(f"{row.fate}: {row.reason}" if row.reason else row.fate, _WIDEST))
    edit = escape_terminal(truncate(row.edit.summary, _WIDEST))
    return f"  {row.number:>3}  {row.commit[:SHORT]}  {why}{tasks}\n       {edit}"
