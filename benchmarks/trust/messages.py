"""Malformed messages for the MCP server, over its standard input and over HTTP: each must be answered."""

import json
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.projects import make_project
from benchmarks.trust.servers import TOKEN, PipeServer, resident_memory, start_server
from benchmarks.trust.table import ClassResult, Found

__all__ = ["MALFORMED", "try_messages"]

_SEED: Final = 20261122
_CHECKOUT: Final = Path(__file__).resolve().parents[2]
_CALL: Final = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s,"arguments":%s}}'
_FIRST: Final = 1_000
"""Messages after which memory is measured first: by then all is loaded."""

_BATCH: Final = 20
"""Messages sent before their answers are read; these fit the pipe, so that nobody waits for the other."""

_GROWTH: Final = 32 * 1024
"""KiB that a server may grow by over all messages."""

MALFORMED: Final = (
    "{broken",
    "[]",
    "null",
    "5",
    '"text"',
    "\x00",
    "[" * 5_000,
    '{"a":' * 5_000,
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    '{"jsonrpc":"2.0","id":true,"method":"ping"}',
    '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    '{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":7}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}',
    '{"jsonrpc":"2.0","id":1,"method":"no/such"}',
    '{"jsonrpc":"2.0","id":1,"method":""}',
    '{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
    '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    _CALL % (1, '"\\ud800"', "{}"),
    _CALL % (1, '"read_skill"', '{"name":"\\udfff"}'),
    _CALL % (1, '"read_skill"', '{"name":"\\u0000"}'),
    _CALL % (1, '"read_skill"', '{"name":5}'),
    _CALL % (1, '"read_skill"', '{"name":"../../etc/passwd"}'),
    _CALL % (1, '"read_skill"', '{"name":"rows","file":"../../skillopt.toml"}'),
    _CALL % (1, '"read_skill"', json.dumps({"name": "x" * 50_000})),
    _CALL % (1, '"no_such_tool"', "{}"),
    _CALL % (1, '"job_status"', '{"job_id":"../../x"}'),
    _CALL % (1, '"propose_edits"', '{"name":"rows","edits":"none"}'),
    _CALL % (1, '"start_job"', '{"name":"\\ud800","work":"optimize"}'),
    _CALL % (1, '"start_job"', '{"name":"no-such","work":"remove"}'),
    _CALL % (1, '"start_job"', '{"name":"no-such","harness":"$(id)"}'),
    _CALL % (1, '"start_job"', '{"name":"no-such","max_usd":-1e999}'),
    _CALL % (1, '"cancel_job"', '{"job_id":"\\u0000"}'),
    _CALL % (1, '"get_evidence"', '{"name":"rows","page":-1}'),
    _CALL % (1, '"rollback_skill"', '{"name":"--all","version":"HEAD"}'),
    _CALL % (1, "null", "{}"),
    '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
    '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"skill://rows/../../x"}}',
    '{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"\\u202e"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":5}}',
)
"""Lines of which each deserves an answer."""


def try_messages(*, quick: bool) -> Found:
    """Send many messages, wait for the answer to each, and watch the server's memory."""
    over_pipe, over_http = (1_500, 500) if quick else (97_000, 3_000)
    with TemporaryDirectory(prefix="trust-messages-") as root:
        project = make_project(Path(root) / "project")
        pipe = _row("MCP, stdio", over_pipe, _try_pipe(project, over_pipe))
        http = _row("MCP, HTTP", over_http, _try_http(project, over_http))
    return (pipe[0], http[0]), [*pipe[1], *http[1]]


def _row(name: str, tried: int, failures: list[str]) -> tuple[ClassResult, list[str]]:
    return ClassResult(name, tried, len(failures)), [f"{name}: {failure}" for failure in failures]


def _messages(count: int) -> Iterator[str]:
    random = Random(_SEED)
    for _ in range(count):
        line = random.choice(MALFORMED)
        if random.random() < 0.5:  # noqa: PLR2004 - half of them are damaged further
            place = random.randrange(len(line))
            line = line[:place] + random.choice('{}[]",:\\0u\x1b\udc80') + line[place + 1 :]
        yield line


def _try_pipe(project: Path, count: int) -> list[str]:
    failures: list[str] = []
    with PipeServer.start(project) as server:
        before, messages = 0, _messages(count)
        for number in range(0, count, _BATCH):
            if not before and number >= min(_FIRST, count // 2):
                before = resident_memory(server.pid)
            lines = [line for line in islice(messages, _BATCH) if not _is_for_nobody(line)]
            for line in lines:
                server.send(line)
            if not all(server.answers.readline() for _ in lines):
                return [f"no answer to one of {[line[:100] for line in lines]}; the server ended, or did not answer"]
        if "result" not in server.ask("ping", {}):
            failures.append("no answer to a ping at the end")
        failures += _grown(before, server.pid)
    return failures


def _is_for_nobody(line: str) -> bool:
    """Tell whether a line is a notification, a response, or blank: the protocol forbids an answer."""
    if not line.strip():
        return True
    try:
        found = json.loads(line.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return False
    method = isinstance(found.get("method"), str) and isinstance(found.get("params", {}), dict | None)
    return (method and "id" not in found) or "result" in found or "error" in found


def _try_http(project: Path, count: int) -> list[str]:
    failures: list[str] = []
    with start_server(project, "--http", "--port", "0") as server:
        said = server.stderr.readline().decode() if server.stderr else ""
        port = int(said.rpartition(":")[2].partition("/")[0])
        before = 0
        for number, line in enumerate(_messages(count)):
            if not before and number >= min(_FIRST, count // 2):
                before = resident_memory(server.pid)
            status = _post(port, line)
            if not 200 <= status < 500:  # noqa: PLR2004 - the statuses of answers and of refusals
                failures.append(f"{status} for {line[:200]!r}")
            if server.poll() is not None:
                return [*failures, f"the server ended with {server.returncode} after {line[:200]!r}"]
        failures += _grown(before, server.pid)
    return failures


_connections: Final[dict[int, HTTPConnection]] = {}


def _post(port: int, line: str) -> int:
    """Post a message; give the status, 0 for no answer."""
    connection = _connections.setdefault(port, HTTPConnection("127.0.0.1", port, timeout=30))
    headers = {
        "authorization": f"Bearer {TOKEN}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    try:
        connection.request("POST", "/mcp", line.encode("utf-8", "surrogateescape"), headers)
        answer = connection.getresponse()
        answer.read()
    except (OSError, HTTPException):
        connection.close()
        return 0
    return answer.status


def _grown(before: int, pid: int) -> list[str]:
    now = resident_memory(pid)
    sys.stderr.write(f"memory of the server: {before:,} KiB after {_FIRST:,} messages, {now:,} KiB at the end\n")
    return [f"memory grew from {before} to {now} KiB"] if now - before > _GROWTH else []
