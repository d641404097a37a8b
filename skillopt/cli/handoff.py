"""The commands `handoff next` and `handoff answer`: their options, and their results as text."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption, QuietOption, RunOptions, SkillArgument, StartOption, with_run_options
from skillopt.cli.output import interruptible, show
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.plurals import count_noun

if TYPE_CHECKING:
    from skillopt.commands.handoff import HandoffRound
    from skillopt.commands.optimize import Optimized

__all__ = ["handoff"]

_UNFINISHED = 3

handoff = typer.Typer(
    help="Train a skill with tasks and edits done by hand, by a person or another agent.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@handoff.command("next")
@with_run_options
def next_(
    skill: SkillArgument = None,
    *,
    options: RunOptions,
    start: StartOption = "auto",
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Begin a training by hand, or show what is open.

    Harness and model are `handoff` unless one of them is named. What is open lies in .skillopt/handoff/open.md, and
    .skillopt/handoff/answers.md waits for the answers.
    """
    from skillopt.cli.progress import ProgressObserver
    from skillopt.commands.handoff import next_round

    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        found = next_round(options.select(skill), start=start, observer=observer)
    show(found, _text, as_json=as_json)


@handoff.command()
def answer(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The answers: answers.md, or JSON as `handoff next --json` gives it.")
    ],
    *,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Take the answers of a file, and go on until more is asked.

    Answers are kept even when some are missing; the command lists those and ends with 3.
    """
    from skillopt.cli.progress import ProgressObserver
    from skillopt.commands.handoff import answer_round

    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        found = answer_round(file, observer=observer)
    show(found, lambda result: _text(result, file), as_json=as_json)
    if found.missing:
        raise typer.Exit(_UNFINISHED)


def _text(found: "HandoffRound", file: Path | None = None) -> str:
    return "\n".join(_lines(found, file))


def _lines(found: "HandoffRound", file: Path | None) -> Iterator[str]:
    if file is not None:
        yield f"took {count_noun(found.taken, 'answer')}"
    for one in found.missing:
        place = f"{file}:{one.line}" if one.line else str(file)
        yield f"{place}: no answer to {one.id} ({escape_terminal(one.about)})"
    if found.result is not None:
        yield from _ended(found.result)
        return
    kinds = [item.kind for item in found.items]
    counts = [count_noun(kinds.count(kind), kind) for kind in ("rollout", "prompt") if kind in kinds]
    yield f"round {found.round} of about {found.rounds} for {found.skill}: {' and '.join(counts)} open"
    yield f"read   {found.read}"
    yield f"write  {found.write}"
    yield "then   skillopt handoff answer .skillopt/handoff/answers.md"


def _ended(result: "Optimized") -> Iterator[str]:
    yield f"the run {result.run} on {result.skill} is over: {result.reason}"
    yield f"{count_noun(result.rollouts, 'rollout')} and {count_noun(result.calls, 'prompt')} were answered"
    if result.versions:
        versions = count_noun(len(result.versions), "version")
        yield f"{versions} on branch {result.branch}; see skillopt log {result.skill}"
    else:
        yield "no version was accepted; the skill is as it was"
    if result.draft is not None and result.draft.commit:
        yield f"draft on branch {result.draft.branch}; see skillopt diff {result.skill} draft"
