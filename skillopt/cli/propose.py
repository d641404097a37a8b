"""The command `propose`."""

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli.options import (
    HarnessOption,
    JsonOption,
    MinutesOption,
    QuietOption,
    RolloutsOption,
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

__all__ = ["propose"]


def propose(
    edits: Annotated[
        Path,
        typer.Argument(help='JSON file: {"edits": [{"op", "anchor" or "section", "content", "rationale", "tasks"}]}.'),
    ],
    skill: SkillArgument = None,
    *,
    start: StartOption = "auto",
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
    """Try edits of your own: screen, gate, and commit.

    Ends with 1 when the gate does not take them, with 2 when one cannot be tried; then none was.
    """
    from skillopt.cli.progress import ProgressWatch
    from skillopt.commands.propose import propose as run
    from skillopt.commands.propose import read_edits

    caps = {"max_rollouts": max_rollouts, "max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = flags_of(settings, workers=workers, harness=harness, **caps)
    with interruptible(), ProgressWatch(quiet=quiet) as watch:
        found = run(select(skill, suite, flags), read_edits(edits), start=start, watch=watch)
    show(found, as_json=as_json)
    if not found.accepted:
        raise typer.Exit(2 if found.refused else 1)
