"""The command `optimize`."""

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
    StartOption,
    SuiteOption,
    TokensOption,
    UsdOption,
    WorkersOption,
    flags_of,
    select,
)
from skillopt.cli.output import interruptible, show

__all__ = ["optimize"]


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
    from skillopt.cli.progress import ProgressWatch
    from skillopt.commands.optimize import optimize as run

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
