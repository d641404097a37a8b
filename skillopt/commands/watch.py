"""The command `watch`: its options, and its result as text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import JsonOption, RunArgument
from skillopt.execution.interrupts import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from skillopt.reports.view import RunView

__all__ = ["follow", "watch"]

_RUNNING = "running"


def watch(
    name: RunArgument = None,
    *,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", min=0.1, help="Time between two refreshes.")
    ] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Show it once and end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Follow a run on the terminal until it ends; Ctrl-C ends the watching only.

    Without a terminal, the run is shown once.
    """
    import time

    from rich.console import Console

    from skillopt.actions.watch import watch_run
    from skillopt.reports import render_view

    try:
        with watch_run(name) as look:
            if as_json:
                typer.echo(render_view(look(), "json"))
            else:
                follow(look, Console(highlight=False), lambda: time.sleep(interval), once=once)
    except KeyboardInterrupt as error:
        raise typer.Exit(EXIT_INTERRUPTED) from error


def follow(
    read: "Callable[[], RunView]", console: "Console", wait: Callable[[], None], *, once: bool = False
) -> "RunView":
    """Show a run until it ends; the run itself is not touched."""
    from rich.live import Live

    view = read()
    if once or not console.is_terminal or console.is_dumb_terminal:  # which cannot go back
        console.print(_painted(view, console), soft_wrap=True)
        return view
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        live.update(_painted(view, console), refresh=True)
        while view.state == _RUNNING:
            wait()
            view = read()
            live.update(_painted(view, console), refresh=True)
    return view


def _painted(view: "RunView", console: "Console") -> "Text":
    from rich.text import Text

    from skillopt.reports.terminal import render_terminal

    # A Text is shown as it is: markup in it means nothing.
    return Text(render_terminal(view, console.width), no_wrap=True, overflow="crop")
