"""The command `evaluate`."""

from typing import Annotated

import typer

from skillopt.cli.options import (
    HarnessOption,
    JsonOption,
    MinutesOption,
    QuietOption,
    SandboxOption,
    SeedOption,
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

__all__ = ["evaluate"]


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
    from skillopt.cli.progress import ProgressWatch
    from skillopt.commands.evaluate import evaluate as run
    from skillopt.tasks import Split

    caps = {"max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = flags_of(settings, seed=seed, workers=workers, harness=harness, sandbox=sandbox, **caps)
    with interruptible(), ProgressWatch(quiet=quiet) as watch:
        subjects = tuple(of or ["worktree"])
        selection = select(skill, suite, flags)
        found = run(selection, subjects=subjects, split=Split(split), trials=trials, watch=watch)
    show(found, as_json=as_json)
