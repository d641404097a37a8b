"""The commands that run the target: `estimate`, `evaluate`, `optimize`, `transfer`."""

from typing import Annotated

import typer

from skillopt.cli.app import app
from skillopt.cli.options import (
    CallsOption,
    HarnessOption,
    JsonOption,
    MinutesOption,
    ModelOption,
    PresetOption,
    QuietOption,
    RolloutsOption,
    SandboxOption,
    SeedOption,
    SetOption,
    SkillArgument,
    SplitOption,
    StartOption,
    SuiteOption,
    TokensOption,
    TrialsOption,
    UsdOption,
    WorkersOption,
    flags_of,
    select,
)
from skillopt.cli.output import interruptible, show

__all__: list[str] = []


@app.command()
def estimate(
    skill: SkillArgument = None,
    *,
    suite: SuiteOption = None,
    preset: PresetOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what a run could take; spends nothing."""
    from skillopt.commands.estimate import estimate as run  # noqa: PLC0415 - imported on use

    show(run(select(skill, suite, flags_of(settings, preset=preset))), as_json=as_json)


@app.command()
def evaluate(
    skill: SkillArgument = None,
    *,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of", metavar="SUBJECT", help="worktree, incumbent, none (no skill) or a version; repeat to compare."
        ),
    ] = None,
    split: SplitOption = "val",
    trials: TrialsOption = 1,
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
    from skillopt.cli.progress import ProgressWatch  # noqa: PLC0415 - as above
    from skillopt.commands.evaluate import evaluate as run  # noqa: PLC0415 - imported on use
    from skillopt.tasks import Split  # noqa: PLC0415 - as above

    caps = {"max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = flags_of(settings, seed=seed, workers=workers, harness=harness, sandbox=sandbox, **caps)
    with interruptible(), ProgressWatch(quiet=quiet) as watch:
        subjects = tuple(of or ["worktree"])
        selection = select(skill, suite, flags)
        found = run(selection, subjects=subjects, split=Split(split), trials=trials, watch=watch)
    show(found, as_json=as_json)


@app.command()
def optimize(
    skill: SkillArgument = None,
    *,
    suite: SuiteOption = None,
    preset: PresetOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    harness: HarnessOption = None,
    sandbox: SandboxOption = None,
    model: ModelOption = None,
    max_rollouts: RolloutsOption = None,
    max_calls: CallsOption = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    start: StartOption = "auto",
    settings: SetOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train the skill, or go on with a run.

    The same command continues a run that was interrupted; what was answered is never paid again.
    """
    from skillopt.cli.progress import ProgressWatch  # noqa: PLC0415 - as above
    from skillopt.commands.optimize import optimize as run  # noqa: PLC0415 - imported on use

    flags = flags_of(
        settings,
        preset=preset,
        seed=seed,
        workers=workers,
        harness=harness,
        sandbox=sandbox,
        model=model,
        max_rollouts=max_rollouts,
        max_calls=max_calls,
        max_usd=max_usd,
        max_tokens=max_tokens,
        max_minutes=max_minutes,
    )
    with interruptible(), ProgressWatch(quiet=quiet, max_rollouts=max_rollouts or 0) as watch:
        found = run(select(skill, suite, flags), start=start, watch=watch)
    show(found, as_json=as_json)


@app.command()
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
    from skillopt.cli.progress import ProgressWatch  # noqa: PLC0415 - as above
    from skillopt.commands.transfer import transfer as run  # noqa: PLC0415 - imported on use
    from skillopt.tasks import Split  # noqa: PLC0415 - as above

    flags = flags_of(settings, workers=workers, max_usd=max_usd, max_tokens=max_tokens, max_minutes=max_minutes)
    with interruptible(), ProgressWatch(quiet=quiet) as watch:
        selection = select(skill, suite, flags)
        found = run(selection, targets=to, version=version, split=Split(split), trials=trials, watch=watch)
    show(found, as_json=as_json)
    if not found.complete:
        raise typer.Exit(3)
