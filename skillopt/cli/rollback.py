"""The command `rollback`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption, select
from skillopt.cli.output import show

if TYPE_CHECKING:
    from skillopt.commands.rollback import RolledBack

__all__ = ["rollback"]


def rollback(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    version: Annotated[str, typer.Argument(help="The version to publish again.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Publish an older version as a new commit."""
    from skillopt.commands.rollback import rollback as run

    show(run(select(skill), version), _text, as_json=as_json)


def _text(result: "RolledBack") -> str:
    return f"{result.branch} is now {result.commit[:10]}, with the text of {result.version[:10]}"
