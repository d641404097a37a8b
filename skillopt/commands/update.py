"""The command `update`: a new upstream text of a skill, with what was learned before, measured and published."""

from collections.abc import Iterator
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, QuietOption, RunOptions, SkillArgument, YesOption, with_run_options
from skillopt.commands.output import SHORT, as_json_text, interruptible, published_lines, used_lines
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import ask_to_pay, foresee_payment
from skillopt.project import Selection
from skillopt.reports.blocks import difference_blocks
from skillopt.reports.terminal import print_terminal
from skillopt.runs.history import compare_versions, difference_of_files
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.shrink.carry import Reapplying
from skillopt.shrink.shrinking import shrink_tasks
from skillopt.shrink.update import Updated, plan_update
from skillopt.shrink.update import update as run

_WIDEST: Final = 100


@with_run_options
def update(
    skill: SkillArgument = None,
    *,
    onto: Annotated[str, typer.Option("--onto", metavar="PATH|REVISION", help="Skill folder or revision to move to.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show how each edit applies; execute nothing.")
    ] = False,
    options: RunOptions,
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Apply what was learned to a new upstream text of the skill.

    Ablation drops learned edits that no task needs any more. The result becomes a version if it is not worse than the
    old version and better than the new upstream alone, else a draft.
    """
    selection = options.select(skill)
    plan, upstream, found = plan_update(selection, onto)
    if not dry_run:
        least = Reapplying.least(len(shrink_tasks(plan.suite)))
        ask_to_pay(foresee_payment(selection, drafts=False), f"at least {least} rollouts", yes=yes)
        with interruptible(), ProgressObserver(quiet=quiet) as observer:
            found = run(plan, upstream, found, observer)
    typer.echo(as_json_text(found) if as_json else "\n".join([*_edits(found), *_outcome(found, selection)]))


def _edits(found: Updated) -> Iterator[str]:
    yield f"{found.skill}: {found.old[:SHORT]} → upstream {found.upstream[: SHORT + len('files ')]}"
    for number, one in enumerate(found.edits, 1):
        became = f"{one.fate}: {one.reason}" if one.reason else one.fate
        yield f"  {number:>3}  {one.commit[:SHORT]}  {escape_terminal(truncate(became, _WIDEST))}"
        yield f"       {escape_terminal(truncate(one.edit.summary, _WIDEST))}"
    yield from (f"not carried over: {escape_terminal(one)}" for one in found.lost)


def _outcome(found: Updated, selection: Selection) -> Iterator[str]:
    draft = found.draft
    if not found.run:
        yield "Dry run: nothing was executed. Without --dry-run, ablation decides which of these edits stay."
        return
    yield f"run {found.run}: {escape_terminal(found.reason)}"
    yield from used_lines(found.spent, (found.rollouts, found.paid_rollouts))
    if made := found.version or (draft.commit if draft else ""):
        sides = compare_versions(selection, found.old, made)
        yield print_terminal(difference_blocks(difference_of_files(sides.old, sides.new)))
    yield from published_lines(found.skill, found.version, draft)
    if not made and draft is None:
        yield "nothing was published"
