"""The command `watch`."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption, RunArgument
from skillopt.cli.output import INTERRUPTED

if TYPE_CHECKING:
    pass

__all__ = ["watch"]


def watch(
    name: RunArgument = None,
    *,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", min=0.1, help="Time between two looks.")
    ] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Show it once and end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Follow a run on the terminal until it ends; Ctrl-C ends the watching only.

    What is no terminal gets one look.
    """
    import time

    from rich.console import Console

    from skillopt.commands.watch import followed
    from skillopt.live import follow
    from skillopt.reports import render_view

    try:
        with followed(name) as look:
            if as_json:
                typer.echo(render_view(look(), "json"))
            else:
                follow(look, Console(highlight=False), lambda: time.sleep(interval), once=once)
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error
