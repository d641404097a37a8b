"""The command `log`."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption, SkillArgument, select
from skillopt.cli.output import show

if TYPE_CHECKING:
    pass

__all__ = ["log"]


def log(
    skill: SkillArgument = None,
    *,
    graph: Annotated[bool, typer.Option("--graph", help="Draw the line of versions, with what each gained.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the accepted versions of the skill, newest first.

    Each with the target it was trained on, and stale when another one is configured.
    """
    if graph:
        from skillopt.commands.log import graph as draw

        show(draw(select(skill)), as_json=as_json)
        return
    from skillopt.commands.log import log as run

    show(run(select(skill)), as_json=as_json)
