"""`skillopt-mcp`: read the command line, then serve.

Modules are imported where they are needed: those that take long come after the command line is read, all of them after
Ctrl-C is listened to.
"""

import os
import sys

from skillopt import TYPE_CHECKING
from skillopt.execution.interrupts import EXIT_INTERRUPTED, EndingOnCtrlC

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Awaitable, Callable, Sequence

_TOKEN = "SKILLOPT_MCP_TOKEN"  # noqa: S105 - the name of a variable
_PORT = 8765  # no service is registered for it


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Serve; what is returned is the process's exit code."""
    try:
        with EndingOnCtrlC():  # also while it serves: a thread that waits for a line cannot be interrupted otherwise
            serve = _prepare(arguments)
            return serve if isinstance(serve, int) else serve()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _prepare(arguments: "Sequence[str] | None") -> "int | Callable[[], int]":
    """Read the command line and import the server; return what serves, or the exit code where nothing can."""
    import logging
    import secrets
    from functools import partial
    from pathlib import Path

    from skillopt.execution.installation import namesake

    if warning := namesake():
        sys.stderr.write(f"skillopt-mcp: {warning}\n")
    # Taken out of the environment: it is nobody else's, and no setting of skillopt.
    token = os.environ.pop(_TOKEN, "")
    given = _parser().parse_args(arguments)
    folder = Path(given.folder).resolve()
    if not folder.is_dir():
        sys.stderr.write(f"skillopt-mcp: expected a folder, found {given.folder!r}; give the project's with -C\n")
        return 2
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    from skillopt_mcp.server import make_server, serve_http, serve_stdio

    server = make_server(folder)
    if not given.http:
        return partial(_run, partial(serve_stdio, server), 0)
    if not token:
        token = secrets.token_urlsafe(32)
        sys.stderr.write(f"the token, which is new each time: {token}\n")
    return partial(_run, partial(serve_http, server, given.port, token), given.port)


def _run(serve: "Callable[[], Awaitable[None]]", port: int) -> int:
    import anyio

    try:
        anyio.run(serve)
    except (OSError, OverflowError) as error:
        sys.stderr.write(f"skillopt-mcp: cannot serve on port {port}: {error}; choose another with --port\n")
        return 3
    return 0


def _parser() -> "ArgumentParser":
    import argparse

    from skillopt import __version__  # where another package is called skillopt it is of that one

    parser = argparse.ArgumentParser(
        prog="skillopt-mcp",
        description="Serve the skills of a project, and the loop that trains them, to a coding agent.",
    )
    parser.add_argument("--version", action="version", version=f"skillopt-mcp {__version__}")
    parser.add_argument("-C", dest="folder", metavar="FOLDER", default=".", help="the project; the current folder")
    parser.add_argument("--http", action="store_true", help=f"serve HTTP on this machine; the token is ${_TOKEN}")
    parser.add_argument("--port", type=int, default=_PORT, metavar="N", help=f"port of --http; {_PORT}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
