"""The command `transfer`."""

from typing import Annotated

import typer

from skillopt.cli.options import (
    JsonOption,
    MinutesOption,
    QuietOption,
    SetOption,
    SkillArgument,
    SplitOption,
    SuiteOption,
    TokensOption,
    TrialsOption,
    UsdOption,
    WorkersOption,
    flags_of,
    select,
)
from skillopt.cli.output import interruptible, show

__all__ = ["transfer"]


def transfer(
    skill: SkillArgument = None,
    *,
    to: Annotated[
        list[str],
        typer.Option("--to", metavar="HARNESS", help="A target, such as codex or claude-code/MODEL; repeat for more."),
    ],
    version: Annotated[str | None, typer.Option("--version", help="A version, instead of the newest.")] = None,
    split: SplitOption = "val",
    trials: TrialsOption = 1,
    suite: SuiteOption = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score a version on other targets.

    On each, it is compared task by task with no skill and with the text that training started from. Ends
    with 3 when a target could not be measured; the others are shown all the same.
    """
    from skillopt.cli.progress import ProgressWatch
    from skillopt.commands.transfer import transfer as run
    from skillopt.tasks import Split

    flags = flags_of(settings, workers=workers, max_usd=max_usd, max_tokens=max_tokens, max_minutes=max_minutes)
    with interruptible(), ProgressWatch(quiet=quiet) as watch:
        selection = select(skill, suite, flags)
        found = run(selection, targets=to, version=version, split=Split(split), trials=trials, watch=watch)
    show(found, as_json=as_json)
    if not found.complete:
        raise typer.Exit(3)
