"""Clients for tests of the MCP server: in memory, and raw lines over a pipe."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, Request, TextContent
from pydantic import RootModel

from skillopt.tasks import File
from skillopt.versions.repository import Repository
from tests.fakes.repositories import FOLDER, NEW_VERSION

EVERY_PROTOCOL = pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
"""For a test of what the versions of the protocol do each in their way: shapes of lists, of reads and of errors."""

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What every request of 2026-07-28 says about its sender, under `_meta`."""

_SECONDS = 240
_CHECKOUT = Path(__file__).resolve().parents[2]


class _Answer(RootModel[dict[str, Any]]):
    pass


def accept(folder: Path, *files: File, text: str = "", skill: str = "rows") -> str:
    """Commit one more accepted version of a skill, with these files and text added to what it has."""
    repository = Repository.find(folder)
    tip = repository.branch_tip(skill)
    parent = tip or repository.head() or ""
    path = FOLDER.replace("rows", skill)
    kept = {file.path: file for file in repository.read_folder(parent, path)}
    document = kept["SKILL.md"].content + text.encode()
    kept |= {"SKILL.md": File("SKILL.md", document)} | {file.path: file for file in files}
    scores = (("Val-Before", "4 of 8"), ("Val-After", "6 of 8"), ("Score", "0.50 to 0.75"))
    trailers = (("Skill", skill), *scores, ("Wins-Ties-Losses", "3/5/0"))
    draft = replace(NEW_VERSION, skill=skill, path=path, files=tuple(kept.values()), trailers=trailers)
    return repository.commit_version(replace(draft, parent=parent, expected_tip=tip))


def install_server(program: Path) -> Path:
    """Make a program that runs the server of this checkout, whatever a client hands on."""
    program.parent.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join((str(_CHECKOUT), str(_CHECKOUT / "mcp_server")))
    program.write_text(f"#!/bin/sh\nPYTHONPATH='{path}' exec '{sys.executable}' -m skillopt_mcp \"$@\"\n")
    program.chmod(0o755)
    return program


async def ask(client: Client, method: str, **params: object) -> dict[str, Any]:
    """Send a request that the client has no method for."""
    request = Request[dict[str, Any], str](method=method, params=params)
    return (await client.session.send_request(request, _Answer)).root


async def failed(client: Client, tool: str, **arguments: object) -> str:
    """Call a tool that is expected to refuse, and give its text."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


async def say(client: Client, tool: str, **arguments: object) -> str:
    """Call a tool that is expected to work, and give its text."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is None
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    """Return the text of a tool's answer."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


class Pipe:
    """Talks to a server over its standard input and output, line by line."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._to, self._from = process.stdin, process.stdout
        self._id = 0

    def write(self, line: bytes) -> None:
        """Send a line as it is."""
        self._to.write(line + b"\n")
        self._to.flush()

    def read(self) -> dict[str, Any]:
        """Return the next message; all that the server prints is messages."""
        line = self._from.readline()
        assert line, "the server ended"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Send a request and give the answer to it; other messages before it are passed over."""
        self._id += 1
        number = f"test-{self._id}"
        self.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        while True:
            message = self.read()
            if message.get("id") == number:
                return message

    def shake(self, version: str) -> dict[str, Any]:
        """Make the handshake of an older protocol version."""
        info = {"name": "test", "version": "1"}
        answer = self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo=info)
        self.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())
        return answer


@contextmanager
def pipe(folder: Path, *arguments: str, **environment: str) -> Iterator[Pipe]:
    """Start the server as a client does; it is stopped when the test ends, or takes much too long."""
    command = [sys.executable, "-m", "skillopt_mcp", *arguments]
    whole = {**os.environ, **environment}
    with subprocess.Popen(
        command, cwd=folder, env=whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        timer = threading.Timer(_SECONDS, process.kill)
        timer.start()
        try:
            yield Pipe(process)
        finally:
            process.communicate()  # which closes the pipe, so that the server ends by itself
            timer.cancel()


@contextmanager
def serving(project: Path) -> Iterator[str]:
    """Serve HTTP, and give the address."""
    command = [sys.executable, "-m", "tests.fakes.mcp_http"]
    path = {"PYTHONPATH": os.pathsep.join((str(_CHECKOUT), str(_CHECKOUT / "mcp_server")))}
    with subprocess.Popen(command, cwd=project, env={**os.environ, **path}, stderr=subprocess.PIPE) as process:
        timer = threading.Timer(_SECONDS, process.kill)
        timer.start()
        try:
            assert process.stderr is not None
            yield process.stderr.readline().decode().removeprefix("serving ").strip()
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()
            timer.cancel()
