"""The command `evaluate`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import (
    JsonOption,
    QuietOption,
    RepeatsOption,
    RunOptions,
    SkillArgument,
    SplitOption,
    with_run_options,
)
from skillopt.cli.output import interruptible, show

if TYPE_CHECKING:
    from skillopt.commands.evaluate import Evaluated, Subject

__all__ = ["evaluate"]


@with_run_options
def evaluate(
    skill: SkillArgument = None,
    *,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of",
            metavar="SUBJECT",
            help="worktree, incumbent, draft, none (no skill) or a version; repeat to compare.",
        ),
    ] = None,
    split: SplitOption = "val",
    repeats: RepeatsOption = 1,
    options: RunOptions,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score the skill, a version, or no skill.

    With several subjects, each is compared with the first, task by task.
    """
    from skillopt.cli.progress import ProgressObserver
    from skillopt.commands.evaluate import evaluate as run
    from skillopt.tasks import Split

    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        subjects = tuple(of or ["worktree"])
        found = run(options.select(skill), subjects=subjects, split=Split(split), repeats=repeats, observer=observer)
    show(found, _text, as_json=as_json)


def _text(result: "Evaluated") -> str:
    lines = [f"{result.skill} on {result.split}, {result.repeats} repeat(s) a task, {result.paid_rollouts} newly run"]
    return "\n".join([*lines, *(_subject(subject) for subject in result.subjects)])


def _subject(subject: "Subject") -> str:
    tally = subject.tally
    missing = f", {tally.missing} not measured" if tally.missing else ""
    line = f"{subject.name}: score {tally.score:.3f}, {tally.passed:.0%} of {tally.measured} tasks passed{missing}"
    verdict = subject.against_first
    if verdict is None:
        return line
    return (
        f"{line}; against the first {verdict.gain:+.3f}, {verdict.wins} better, {verdict.ties} equal, "
        f"{verdict.losses} worse, confidence {verdict.confidence:.2f}"
    )
