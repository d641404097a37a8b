"""The command `blame`."""

from typing import Annotated

import typer

from skillopt.cli.options import (
    JsonOption,
    SkillArgument,
    select,
)
from skillopt.cli.output import show as print_result

__all__ = ["blame"]


def blame(
    skill: SkillArgument = None,
    *,
    find: Annotated[str, typer.Option(metavar="TEXT", help="Only lines that hold this text.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Say which version, run and tasks put each line here.

    The lines are those of the newest version.
    """
    from skillopt.commands.blame import blame as run

    print_result(run(select(skill), find), as_json=as_json)
