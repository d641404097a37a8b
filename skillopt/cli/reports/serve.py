"""The command `serve`: its options, and its result as text."""

import json
from typing import Annotated

import typer

from skillopt.cli.options import AllSplitsOption, JsonOption

__all__ = ["serve"]


def serve(
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0 for any free port.")] = 0,
    all_splits: AllSplitsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the runs of this project as live pages in a browser on this machine.

    Candidates for tasks from `skillopt harvest` are reviewed there, too, which is all that can be changed. On the
    loopback address, under a random path that is printed here only; Ctrl-C ends it.
    """
    from skillopt.commands.serve import serve as run

    def announce(address: str) -> None:
        typer.echo(json.dumps({"address": address}) if as_json else address)
        typer.echo("Ctrl-C ends it.", err=True)

    run(port=port, all_splits=all_splits, announce=announce)
