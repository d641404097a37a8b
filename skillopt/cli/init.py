"""The command `init`."""

from typing import Annotated, Literal

import typer

from skillopt.cli.options import JsonOption
from skillopt.cli.output import show

__all__ = ["init"]


def init(
    *,
    client: Annotated[
        Literal["claude-code", "codex", "both"] | None, typer.Option(help="Register skillopt-mcp with it instead.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take what --client added out again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what --client would change.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write skillopt.toml for the skills that are there."""
    if client or undo or dry_run:
        from skillopt.commands.registration import register

        register(client, announce=lambda told: show(told, as_json=as_json), undo=undo, dry_run=dry_run)
        return
    from skillopt.commands.init import init as run

    show(run(), as_json=as_json)
