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

from benchmarks.trust.mcp_kills import SOURCES, PipeServer
from benchmarks.trust.projects import make_project
from benchmarks.trust.table import ClassResult, Found

__all__ = ["try_messages"]

_SEED: Final = 20261122
_BATCH: Final = 8
"""Messages sent before answers are read; these fit the pipe, so that nobody waits for the other."""

_GROWTH: Final = 32 * 1024
"""KiB that the server may grow by between the first tenth and the end."""

_SECONDS: Final = 600
_CALL: Final = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%s,"arguments":%s}}'
_MESSAGE: Final = '{"jsonrpc":"2.0","id":1,"method":%s}'
_NO_MESSAGES: Final = (
    "{broken",
    "[]",
    "null",
    "5",
    '"text"',
    "\x00",
    "[" * 5_000,
    '{"a":' * 5_000,
    '{"jsonrpc":"2.0"}',
)
_IDS: Final = ("1.5", "true", "null", "[1]", '"\\ud800"')
_METHODS: Final = ("7", '""', '"no/such"', '"\\ud800"', '"ping","params":[1]', '"tools/list","params":{"_meta":5}')
_URIS: Final = ("file:///etc/passwd", "skill://rows/../../x", "skill://\\ud800")
_CALLS: Final = {
    "read_skill": ('{"name":"\\udfff"}', '{"name":"\\u0000"}', '{"name":5}', '{"name":"../../etc/passwd"}'),
    "\\ud800": ("{}",),
    "no_such_tool": ("{}",),
    "job_status": ('{"job_id":"../../x"}',),
    "propose_edits": ('{"name":"rows","edits":"none"}', '{"name":"rows","edits":[{}]}'),
    "start_job": ('{"name":"\\ud800","work":"optimize"}', '{"name":"no-such","max_usd":-1e999}', "null"),
    "cancel_job": ('{"job_id":"\\u0000"}',),
    "get_evidence": ('{"name":"rows","page":-1}', f'{{"name":"{"x" * 5_000}"}}'),
    "rollback_skill": ('{"name":"--all","version":"HEAD"}',),
}
_MALFORMED: Final = (
    *_NO_MESSAGES,
    *(f'{{"jsonrpc":"2.0","id":{number},"method":"ping"}}' for number in _IDS),
    *(_MESSAGE % method for method in _METHODS),
    *(_MESSAGE % f'"resources/read","params":{{"uri":"{uri}"}}' for uri in _URIS),
    *(_CALL % (f'"{tool}"', given) for tool, arguments in _CALLS.items() for given in arguments),
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
