"""`skillopt-mcp`: read the command line, then serve.

Modules are imported where they are needed: those that take long come after the command line is read, all of them after
Ctrl-C is listened to.
"""

import sys

from skillopt import TYPE_CHECKING
from skillopt.execution.interrupts import EXIT_INTERRUPTED, EndingOnCtrlC

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Serve; what is returned is the process's exit code."""
    try:
        with EndingOnCtrlC():  # also while it serves: a thread that waits for a line cannot be interrupted otherwise
            serve = _prepare(arguments)
            if isinstance(serve, int):
                return serve
            serve()
            return 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _prepare(arguments: "Sequence[str] | None") -> "int | Callable[[], None]":
    """Read the command line and import the server; return what serves, or the exit code where nothing can."""
    import logging
    from functools import partial
    from pathlib import Path

    from skillopt.execution.installation import namesake

    if warning := namesake():
        sys.stderr.write(f"skillopt-mcp: {warning}\n")
    given = _parser().parse_args(arguments)
    folder = Path(given.folder).resolve()
    if not folder.is_dir():
        sys.stderr.write(f"skillopt-mcp: expected a folder, found {given.folder!r}; give the project's with -C\n")
        return 2
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    import anyio

    from skillopt_mcp.server import make_server, serve_stdio

    return partial(anyio.run, serve_stdio, make_server(folder))


def _parser() -> "ArgumentParser":
    import argparse

    from skillopt import __version__  # where another package is called skillopt it is of that one

    parser = argparse.ArgumentParser(
        prog="skillopt-mcp",
        description="Serve the skills of a project, and the loop that trains them, to a coding agent.",
    )
    parser.add_argument("--version", action="version", version=f"skillopt-mcp {__version__}")
    parser.add_argument("-C", dest="folder", metavar="FOLDER", default=".", help="the project; the current folder")
    return parser


if __name__ == "__main__":
    sys.exit(main())
