"""Raw messages for the MCP server, over its standard input: it goes on, and answers each that is a request."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Final

from benchmarks.trust.classes import ClassResult, Found
from benchmarks.trust.mcp_kills import PipeServer
from benchmarks.trust.projects import SOURCES, make_project

_SEED: Final = 20261122
_BATCH: Final = 8
"""Messages sent before answers are read; these fit the pipe, so that nobody waits for the other."""

_GROWTH: Final = 32 * 1024
"""KiB that the server may grow by between the first tenth and the end."""

_SECONDS: Final = 600
_LONG: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_evidence","arguments":{"name":"%s"}}}'
)
_MALFORMED: Final = (
    *Path(__file__).with_name("messages.txt").read_text(encoding="utf-8").splitlines(),
    *("\x00", "[" * 5_000, '{"a":' * 5_000, _LONG % ("x" * 5_000)),
)


def try_messages(*, quick: bool) -> Found:
    """Send raw messages to the MCP server, most of them malformed: it must answer every request, in bounded memory."""
    many = 1_000 if quick else 100_000
    with TemporaryDirectory(prefix="trust-messages-") as root:
        failures = _send(make_project(Path(root) / "project"), many)
    return (ClassResult("MCP: raw messages", many, len(failures)),), failures


def _messages(many: int) -> Iterator[tuple[str, int]]:
    """Yield lines, each with the number that its answer has, 0 where it is no request."""
    random = Random(_SEED)
    for number in range(1, many + 1):
        line = random.choice(_MALFORMED)
        if random.randrange(2):
            place = random.randrange(len(line))
            line = line[:place] + random.choice('{}[]",:\\0u\x1b\udc80') + line[place + 1 :]
        yield (line.replace('"id":1,', f'"id":{number},', 1), number) if _is_request(line) else (line, 0)


def _is_request(line: str) -> bool:
    try:
        found = json.loads(line)
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0" or '"id":1,' not in line:
        return False
    return isinstance(found.get("method"), str) and isinstance(found.get("params", {}), dict)


def _send(project: Path, many: int) -> list[str]:
    command, environment = [sys.executable, "-m", "skillopt_mcp"], {**os.environ, "PYTHONPATH": SOURCES}
    with subprocess.Popen(
        command, cwd=project, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("expected a server with pipes, found one without")
        clock, messages, before = Timer(_SECONDS, process.kill), _messages(many), 0
        clock.start()
        server = PipeServer(process.stdin, process.stdout)
        try:
            server.greet()
            while batch := list(islice(messages, _BATCH)):
                for line, _ in batch:
                    server.send(line)
                owed = {number for _, number in batch if number}
                server.send('{"jsonrpc":"2.0","id":0,"method":"ping"}')
                if left := _unanswered(server, {0, *owed}):
                    return [f"MCP: no answer to {sorted(left)} of {[(number, line[:100]) for line, number in batch]}"]
                before = before or (_memory(process.pid) if max(owed, default=0) > many // 10 else 0)
            grown = _memory(process.pid) - before
            return [f"MCP: the server grew by {grown} KiB"] if grown > _GROWTH else []
        finally:
            clock.cancel()
            process.kill()


def _unanswered(server: PipeServer, owed: set[int]) -> set[int]:
    """Read until all is answered; return what is not when the server ends."""
    while owed:
        line = server.answers.readline()
        if not line:
            break
        owed.discard(json.loads(line).get("id", -1))
    return owed


def _memory(pid: int) -> int:
    """Return the resident memory of a process in KiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return int(status.partition("VmRSS:")[2].split()[0])
