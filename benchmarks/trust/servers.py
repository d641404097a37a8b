"""MCP servers in processes of their own, and how one is asked over its standard input."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

__all__ = ["SOURCES", "TOKEN", "PipeServer", "resident_memory", "start_server"]

TOKEN: Final = "a-token-for-loopback"  # noqa: S105 - it opens nothing
"""What requests over HTTP must carry."""

_CHECKOUT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = os.pathsep.join((str(_CHECKOUT), str(_CHECKOUT / "mcp_server")))
"""The `PYTHONPATH` of processes that run this checkout."""

_CLIENT: Final = {"name": "trust", "version": "1"}
_SECONDS: Final = 900


@dataclass(frozen=True, slots=True)
class PipeServer:
    """A server that is asked over its standard input.

    Args:
        pid: The server's process.
        to: Where messages go to.
        answers: Where answers come from.
    """

    pid: int
    to: IO[bytes]
    answers: IO[bytes]

    @staticmethod
    @contextmanager
    def start(
        project: Path, environment: Mapping[str, str] | None = None, seconds: int = _SECONDS
    ) -> "Iterator[PipeServer]":
        """Start a server, and shake hands.

        Args:
            project: Its folder.
            environment: What is changed in its environment.
            seconds: After which it is ended, so that nobody waits for it for ever.
        """
        with start_server(project, environment=environment, seconds=seconds) as process:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("expected a server with pipes, found one without")
            server = PipeServer(process.pid, process.stdin, process.stdout)
            server.greet()
            yield server

    def greet(self) -> None:
        """Shake hands."""
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT})
        self.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def send(self, line: str) -> None:
        """Send a line."""
        self.to.write(line.replace("\n", " ").encode("utf-8", "surrogateescape") + b"\n")
        self.to.flush()

    def ask(self, method: str, params: object) -> dict[str, object]:
        """Send a request and wait for its answer; empty where the server ended."""
        self.send(json.dumps({"jsonrpc": "2.0", "id": "asked", "method": method, "params": params}))
        for line in self.answers:
            answer: dict[str, object] = json.loads(line)
            if answer.get("id") == "asked":
                return answer
        return {}

    def call(self, tool: str, **arguments: object) -> str:
        """Call a tool; give its answer as JSON, empty where the server ended."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return json.dumps(answer) if answer else ""


@contextmanager
def start_server(
    project: Path, *arguments: str, environment: Mapping[str, str] | None = None, seconds: int = _SECONDS
) -> "Iterator[subprocess.Popen[bytes]]":
    """Start a server, and kill it in the end."""
    with subprocess.Popen(
        [sys.executable, "-m", "skillopt_mcp", *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": SOURCES, "SKILLOPT_MCP_TOKEN": TOKEN, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if arguments else subprocess.DEVNULL,
    ) as server:
        before = signal.signal(signal.SIGALRM, lambda *_: server.kill())
        signal.alarm(seconds)
        try:
            yield server
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
            server.kill()


def resident_memory(pid: int) -> int:
    """Give the resident memory of a process in KiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return int(status.partition("VmRSS:")[2].split()[0])
