"""The command `watch`: the record of a run, read again and again while it goes on; nothing is written."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from skillopt.commands.options import JsonOption, RunArgument
from skillopt.execution.interrupts import EXIT_INTERRUPTED
from skillopt.project import Project
from skillopt.reports.load_view import find_run, load_progress
from skillopt.reports.terminal import render_terminal
from skillopt.reports.view import RunView, render_json
from skillopt.storage.ledger import Ledger

_INTERVAL: Final = 1.0


def watch(name: RunArgument = None, *, as_json: JsonOption = False) -> None:
    """Follow a run on the terminal until it ends; Ctrl-C ends the watching only.

    Without a terminal, the run is shown once.
    """
    project = Project.find(Path.cwd())
    try:
        with closing(Ledger.open(project.root, read_only=True)) as ledger:
            run = find_run(ledger, name).id

            def look() -> RunView:
                return load_progress(project, ledger, ledger.run(run))

            if as_json:
                typer.echo(render_json(look()))
            else:
                follow(look, Console(highlight=False), lambda: time.sleep(_INTERVAL))
    except KeyboardInterrupt as error:
        raise typer.Exit(EXIT_INTERRUPTED) from error


def follow(read: Callable[[], RunView], console: Console, wait: Callable[[], None]) -> RunView:
    """Show a run until it ends; the run itself is not touched."""
    view = read()
    if not console.is_terminal or console.is_dumb_terminal:  # which cannot go back
        console.print(_painted(view, console), soft_wrap=True)
        return view
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        live.update(_painted(view, console), refresh=True)
        while view.state == "running":
            wait()
            view = read()
            live.update(_painted(view, console), refresh=True)
    return view


def _painted(view: RunView, console: Console) -> Text:
    # A Text is shown as it is: markup in it means nothing.
    return Text(render_terminal(view, console.width), no_wrap=True, overflow="crop")
