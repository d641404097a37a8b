"""Lines of standard input that are messages; each line that is none is answered with an error.

The SDK passes over such lines, and a client would wait for ever for the answer to its request.
"""

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Final, TextIO

import anyio
from anyio.streams.memory import MemoryObjectSendStream
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

__all__ = ["LONGEST", "CheckedLines", "find_fault"]

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
