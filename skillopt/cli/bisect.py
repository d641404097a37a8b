"""The command `bisect`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import (
    HarnessOption,
    JsonOption,
    MinutesOption,
    QuietOption,
    RolloutsOption,
    SetOption,
    SkillArgument,
    SuiteOption,
    TokensOption,
    UsdOption,
    WorkersOption,
    flags_of,
    select,
)
from skillopt.cli.output import SHORT, interruptible, show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.commands.bisect import Bisected

__all__ = ["bisect"]


def bisect(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Id of a train or val task.")],
    skill: SkillArgument = None,
    *,
    good: Annotated[str, typer.Option(help="A version with which it works; the first text when left out.")] = "",
    bad: Annotated[str, typer.Option(help="A version with which it does not; the newest when left out.")] = "",
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Most runs of the task with one version.")] = 20,
    suite: SuiteOption = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    harness: HarnessOption = None,
    max_rollouts: RolloutsOption = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find the version that broke a task.

    A binary search with as many runs as the confidence asks for; runs that are recorded are free. Ends with 1 when
    no single version is found.
    """
    from skillopt.cli.progress import ProgressObserver
    from skillopt.commands.bisect import Span
    from skillopt.commands.bisect import bisect as run

    caps = {"max_rollouts": max_rollouts, "max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = flags_of(settings, workers=workers, harness=harness, **caps)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        found = run(select(skill, suite, flags), task, Span(good, bad), repeats=repeats, observer=observer)
    show(found, _text, as_json=as_json)
    if not found.culprit:
        raise typer.Exit(1)


def _text(result: "Bisected") -> str:
    """Render what a search found and what it rests on."""
    lines = [
        f"{result.skill}, task {escape_terminal(result.task)}, {result.texts} texts: {escape_terminal(result.reason)}"
    ]
    for text in result.measured:
        mark = "<- broke it" if text.commit == result.culprit else ""
        score = f"passed {text.passed} of {text.repeats}, score {text.score:.3f}"
        lines.append("  ".join(filter(None, (text.commit[:SHORT], score, escape_terminal(text.subject), mark))))
    lines.append(f"asked: {result.rollouts} rollouts, {result.paid_rollouts} newly run")
    if result.culprit:
        lines.append(f"look further: skillopt show {result.culprit[:SHORT]}")
    elif result.shown:
        lines.append("more repeats may tell: --repeats, or a higher --max-rollouts")
    return "\n".join(lines)
