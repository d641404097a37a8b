"""MCP transports: standard input and output, and HTTP on this machine alone.

An HTTP request is checked for its host and origin (by the SDK), so that no web page reaches the server through a
browser, and for a token, so that no other user of the machine does.
"""

import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from hmac import compare_digest
from typing import Final, TextIO

import anyio
import uvicorn
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from skillopt_mcp.server import SkillServer

__all__ = ["LONGEST", "CheckedLines", "TokenCheck", "find_fault", "http_app", "serve_http", "serve_stdio"]

LONGEST: Final = 16 * 1024 * 1024
"""Characters of a line; what follows of a longer one is not kept."""


class CheckedLines(anyio.AsyncFile[str]):
    """Gives the lines that are messages and answers the others."""

    def __init__(self, lines: TextIO, refuse: MemoryObjectSendStream[SessionMessage]) -> None:
        super().__init__(lines)
        self._refuse = refuse

    async def __aiter__(self) -> AsyncIterator[str]:
        """Return the lines that are messages, until there are no more."""
        while line := await self._next_line():
            fault = find_fault(line) if line.strip() else None
            if fault is not None:
                await self._refuse.send(SessionMessage(fault))
            elif line.strip():
                yield line

    async def _next_line(self) -> str:
        """Read a line; of one that is too long its beginning alone, which is one character too long."""
        read = partial(self.wrapped.readline, LONGEST + 1)
        line = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
        rest = line
        while rest and not rest.endswith("\n"):
            rest = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
        return line


def find_fault(line: str) -> JSONRPCError | None:
    """Return the error that answers a line, None where it is a message."""
    if len(line) > LONGEST:
        return _refusal(None, INVALID_REQUEST, f"expected a line of at most {LONGEST} characters")
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            return _refusal(_find_id(line), PARSE_ERROR, "expected JSON in UTF-8")
        return _refusal(_find_id(line), INVALID_REQUEST, "expected a request of JSON-RPC 2.0")
    # A request whose id is no text or whole number is read as a notification, which nobody would answer.
    if isinstance(message, JSONRPCNotification) and "id" in _read(line):
        return _refusal(None, INVALID_REQUEST, "expected a text or a whole number as id")
    return None


def _find_id(line: str) -> RequestId | None:
    """Read the id of what is no message, where it can be sent back."""
    number = _read(line).get("id")
    if isinstance(number, str) and number.isascii():
        return number
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _read(line: str) -> dict[str, object]:
    """Read an object in a more lenient way than messages are; empty where there is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _refusal(number: RequestId | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=message))


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
