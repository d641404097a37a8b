"""MCP transports: standard input and output, and HTTP on this machine alone.

An HTTP request is checked for its host and origin (by the SDK), so that no web page reaches the server through a
browser, and for a token, so that no other user of the machine does.
"""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hmac import compare_digest
from typing import TextIO

import anyio
import uvicorn
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import WriteStream
from mcp.shared.message import SessionMessage
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from skillopt_mcp.lines import CheckedLines
from skillopt_mcp.server import SkillServer

__all__ = ["TokenCheck", "http_app", "serve_http", "serve_stdio"]

_HOST = "127.0.0.1"


class TokenCheck:
    """Refuses requests that do not carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        given = Headers(scope=scope).get("authorization", "") if scope["type"] == "http" else None
        if given is None or compare_digest(given.encode("latin-1"), self._expected):
            await self._app(scope, receive, send)
            return
        refused = PlainTextResponse("expected the server's token", 401, {"WWW-Authenticate": "Bearer"})
        await refused(scope, receive, send)


async def serve_stdio(server: SkillServer) -> None:
    """Serve the process that started this one, until it closes the pipe; a line that is no message gets an error."""
    refuse, refusals = anyio.create_memory_object_stream[SessionMessage](0)
    with _standard_input() as lines:
        async with (
            stdio_server(stdin=CheckedLines(lines, refuse)) as (read, write),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(_forward, refusals, write)
            await server.run(read, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()


async def _forward(refusals: MemoryObjectReceiveStream[SessionMessage], write: WriteStream[SessionMessage]) -> None:
    async for refusal in refusals:
        await write.send(refusal)


@contextmanager
def _standard_input() -> Iterator[TextIO]:
    """Read what is sent to this process; what it starts finds its own standard input empty."""
    wire = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    # Not closed at the end: a thread may still wait for a line.
    yield os.fdopen(wire, encoding="utf-8", errors="replace", newline="\n", closefd=False)


def http_app(server: SkillServer, token: str) -> Starlette:
    """Make the web application, with all its checks."""
    app = server.streamable_http_app(host=_HOST)
    app.user_middleware.insert(0, Middleware(TokenCheck, token))
    return app


async def serve_http(server: SkillServer, port: int, token: str) -> None:
    """Serve this machine until the process is stopped."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen()
        sys.stderr.write(f"serving http://{_HOST}:{listener.getsockname()[1]}/mcp\n")
        sys.stderr.flush()
        config = uvicorn.Config(http_app(server, token), log_level="warning", timeout_graceful_shutdown=2)
        await uvicorn.Server(config).serve(sockets=[listener])
