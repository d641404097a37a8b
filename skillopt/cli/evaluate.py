"""The command `evaluate`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import (
    HarnessOption,
    JsonOption,
    MinutesOption,
    QuietOption,
    RepeatsOption,
    SandboxOption,
    SeedOption,
    SetOption,
    SkillArgument,
    SplitOption,
    SuiteOption,
    TokensOption,
    UsdOption,
    WorkersOption,
    flags_of,
    select,
)
from skillopt.cli.output import interruptible, show

if TYPE_CHECKING:
    from skillopt.commands.evaluate import Evaluated, Subject

__all__ = ["evaluate"]


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
    suite: SuiteOption = None,
    settings: SetOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    harness: HarnessOption = None,
    sandbox: SandboxOption = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score the skill, a version, or no skill.

    With several subjects, each is compared with the first, task by task.
    """
    from skillopt.cli.progress import ProgressObserver
    from skillopt.commands.evaluate import evaluate as run
    from skillopt.tasks import Split

    caps = {"max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = flags_of(settings, seed=seed, workers=workers, harness=harness, sandbox=sandbox, **caps)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        subjects = tuple(of or ["worktree"])
        selection = select(skill, suite, flags)
        found = run(selection, subjects=subjects, split=Split(split), repeats=repeats, observer=observer)
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
