"""Following a run on a terminal: the same lines again and again until it ends.

Owns painting, and that what is no terminal gets the lines once. Does not own the lines (reports.terminal) or reading
the record (commands.watch).
"""

from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from skillopt.reports.record import RunView
from skillopt.reports.terminal import frame

__all__ = ["follow"]

_RUNNING = "running"


def follow(read: Callable[[], RunView], console: Console, wait: Callable[[], None], *, once: bool = False) -> RunView:
    """Show a run until it ends; the run itself is not touched.

    Args:
        read: Gives the run as it is now.
        console: Where it is shown.
        wait: Lets time pass between two looks.
        once: Show it once, however it stands.

    Returns:
        The run as it was shown last.
    """
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


def _painted(view: RunView, console: Console) -> Text:
    # A Text is shown as it is: markup in it means nothing.
    return Text(frame(view, console.width), no_wrap=True, overflow="crop")
