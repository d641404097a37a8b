"""The commands that ask where a skill's text comes from: `show`, `blame`, `bisect`."""

from typing import Annotated

import typer

from skillopt.cli.app import app
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
from skillopt.cli.output import interruptible
from skillopt.cli.output import show as print_result

__all__: list[str] = []


@app.command()
def show(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A version, as `skillopt log` lists it.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Show a version: what changed and why.

    Each edit with the tasks that motivated it, how it did alone, and what it is worth, as far as the ledger here
    holds that.
    """
    from skillopt.commands.show import show as run  # noqa: PLC0415 - imported on use

    print_result(run(select(None), version), as_json=as_json)


@app.command()
def blame(
    skill: SkillArgument = None,
    *,
    find: Annotated[str, typer.Option(metavar="TEXT", help="Only lines that hold this text.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Say which version, run and tasks put each line here.

    The lines are those of the newest version.
    """
    from skillopt.commands.blame import blame as run  # noqa: PLC0415 - imported on use

    print_result(run(select(skill), find), as_json=as_json)


@app.command()
def bisect(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Id of a train or val task.")],
    skill: SkillArgument = None,
    *,
    good: Annotated[str, typer.Option(help="A version with which it works; the first text when left out.")] = "",
    bad: Annotated[str, typer.Option(help="A version with which it does not; the newest when left out.")] = "",
    trials: Annotated[int, typer.Option("--trials", min=1, help="Most runs of the task with one version.")] = 20,
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
    from skillopt.cli.progress import ProgressWatch  # noqa: PLC0415 - as above
    from skillopt.commands.bisect import Span  # noqa: PLC0415 - imported on use
    from skillopt.commands.bisect import bisect as run  # noqa: PLC0415 - as above

    caps = {"max_rollouts": max_rollouts, "max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = flags_of(settings, workers=workers, harness=harness, **caps)
    with interruptible(), ProgressWatch(quiet=quiet) as watch:
        found = run(select(skill, suite, flags), task, Span(good, bad), trials=trials, watch=watch)
    print_result(found, as_json=as_json)
    if not found.culprit:
        raise typer.Exit(1)
