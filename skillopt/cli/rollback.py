"""The command `rollback`."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption, select
from skillopt.cli.output import show

if TYPE_CHECKING:
    pass

__all__ = ["rollback"]


def rollback(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    version: Annotated[str, typer.Argument(help="The version to publish again.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Publish an older version as a new commit."""
    from skillopt.commands.rollback import rollback as run

    show(run(select(skill), version), as_json=as_json)
