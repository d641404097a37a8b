"""The command `shrink`: delete the text that no task needs, and show that the shorter skill loses nothing."""

from collections.abc import Iterator
from typing import Annotated

import typer

from skillopt.commands.options import (
    JsonOption,
    QuietOption,
    RunOptions,
    StartOption,
    VerboseOption,
    YesOption,
    with_run_options,
)
from skillopt.commands.output import SHORT, draft_lines, interruptible, list_tasks, show, used_lines
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import ask_to_pay, foresee_payment
from skillopt.errors import UsageError
from skillopt.nightly.offers import find_descriptions
from skillopt.safety.escaping import count_noun, escape_terminal, truncate
from skillopt.shrink.run import Shrunk, forecast_shrink, shrink_skill

_LONGEST = 70
"""Characters of a unit that are shown."""


@with_run_options
def shrink(
    skill: Annotated[
        list[str] | None,
        typer.Argument(
            help="Name in skillopt.toml, or a skill folder; with --descriptions several, or all if left out."
        ),
    ] = None,
    *,
    descriptions: Annotated[
        bool, typer.Option("--descriptions", help="Shorten the descriptions that clients list, by trigger sets.")
    ] = False,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=50, help="Runs of each request, with --descriptions.")
    ] = 3,
    drop_unexercised: Annotated[
        bool, typer.Option("--drop-unexercised", help="Also delete text that no task or request covers.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show cost and power only; execute nothing.")] = False,
    options: RunOptions,
    start: StartOption = "auto",
    yes: YesOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Delete text of the skill that no task needs.

    Ablation removes lines, list items, table rows, code blocks and sections in groups, task by task. Old and shorter
    text are then compared on all tasks: a test of non-inferiority decides whether it becomes a version or a draft. No
    optimizer model is needed. Text that no task covers stays, because no task can tell whether it is needed.

    With --descriptions, it shows what each client lists of all skills, and shortens descriptions as long as the agent
    loads each skill for the requests of its trigger set as before.
    """
    if descriptions:
        how = {"dry_run": dry_run, "yes": yes, "quiet": quiet, "as_json": as_json}
        if (trained := find_descriptions()) is None:
            raise UsageError("expected skillopt.contrib.triggers for descriptions, found none; leave them out")
        trained.shorten(skill or (), options.select(None), repeats=repeats, drop=drop_unexercised, **how)
        return
    if len(skill or ()) > 1:
        raise UsageError(f"expected one skill, found {', '.join(skill or ())}; shrink them one by one")
    selection = options.select(next(iter(skill or ()), None))
    forecast = forecast_shrink(selection, start=start)
    if dry_run:
        show(forecast, lambda one: f"Dry run: nothing was executed. {one.words}", as_json=as_json)
        return
    ask_to_pay(foresee_payment(selection, drafts=False), forecast.words, yes=yes)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        found = shrink_skill(selection, drop_unexercised=drop_unexercised, start=start, observer=observer)
    lines = _text(found, verbose=verbose)
    show(found, lambda _: "\n".join(lines), as_json=as_json)


def _text(found: Shrunk, *, verbose: bool) -> Iterator[str]:
    saved = found.tokens_before - found.tokens_after
    share = f" ({-saved / found.tokens_before:.0%})" if saved else ""
    yield f"run {found.run} on {found.skill}: {found.tokens_before:,} → {found.tokens_after:,} tokens{share}, estimated"
    if found.headline is not None:
        yield f"old and new text compared: {found.headline.words}"
    yield escape_terminal(found.reason.rpartition("tokens: ")[2])
    yield from _units(found, verbose=verbose)
    yield from used_lines(found.spent, (found.rollouts, found.paid_rollouts))
    skill, draft = found.skill, found.draft
    if found.version:
        yield f"version {found.version[:SHORT]} on branch skillopt/{skill}"
        yield f"next: git merge skillopt/{skill}    (review it first: skillopt diff {skill})"
    elif draft is not None:
        yield from draft_lines(draft)
        if draft.replaced:
            yield f"the earlier draft has other edits and is kept as {draft.replaced[:SHORT]}"
        if draft.commit:
            yield f"next: skillopt take {skill}    (review it first: skillopt diff {skill} draft)"


def _units(found: Shrunk, *, verbose: bool) -> Iterator[str]:
    """Count the units by what became of them, and list those that were asked for."""
    needed = [one for one in found.units if one.tasks]
    idle = [one for one in found.units if one.kept and not one.tasks]
    gone = [one for one in found.units if not one.kept]
    if found.units:
        counts = f"{len(gone)} deleted, {len(needed)} kept because a task needs them"
        yield f"{count_noun(len(found.units), 'unit')} of text: {counts}, {len(idle)} kept because no task covers them"
    for one in needed + gone + idle if verbose else ():
        why = f"needed by {list_tasks(one.tasks)}" if one.tasks else "no task covers it" if one.kept else "deleted"
        text = escape_terminal(truncate(" ".join(one.text.split()), _LONGEST))
        yield f"  line {one.line:>3}  {one.tokens:>4} tokens  {text}  {why}"
