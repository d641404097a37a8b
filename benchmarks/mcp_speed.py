"""How fast the MCP server answers, beside a hello-world server on the same SDK.

Over stdio, with a repository of 100 skills. What the server is compared with is in hello_mcp. All are asked in turn,
so that a change of the machine's speed meets them alike. What depends on the repository is compared with a hello-world
that has git list the branches before each answer, as the server does.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tools.skill_repository import make_many

__all__ = ["SKILLS", "mcp_ratios"]

SKILLS = 100

_STARTS = 15
_ASKED = 1_000
_BEFORE = 100  # requests that are not timed
_HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
_LIST_SKILLS = {"name": "list_skills", "arguments": {}}
_READ = {"uri": "skill://skill-0000/SKILL.md"}
_Params = Mapping[str, object]


def mcp_ratios(scratch: Path) -> Iterator[tuple[str, float, float, str]]:
    """Yield (what, ratio, limit, remark) for the start of the process and for three kinds of request.

    Args:
        scratch: A folder that is there; the repository is made in it.
    """
    folder = make_many(scratch / "skills", SKILLS, 1, 1)
    answers = scratch / "answers.json"
    ours = [sys.executable, "-m", "skillopt_mcp", "-C", str(folder)]
    hello = [sys.executable, "-m", "benchmarks.hello_mcp", str(answers)]
    with _started(ours) as server:
        known = _answers(server)
    answers.write_text(json.dumps(known), encoding="utf-8")
    starts = [(_first_answer(ours), _first_answer(hello)) for _ in range(_STARTS)]
    ratio = median(slow / fast for slow, fast in starts)
    yield "start to first tools/list", ratio, 1.25, _ms(median(fast for _, fast in starts))
    pages = [{"cursor": cursor} if cursor else {} for cursor in known["skills/list"]]
    asked: dict[str, Sequence[_Params]] = {"tools/list": [{}], "skills/list": pages, "resources/read": [_READ]}
    commands = (ours, hello, [*hello, str(folder)])
    with ExitStack() as all_of_them:
        servers = [all_of_them.enter_context(_started(command)) for command in commands]
        for method, params in asked.items():
            slow, fast, by_git = _times(servers, method, params)
            without = f"; ours takes {median(slow) / median(fast):.2f} times one without git"
            peer, name, more = (fast, method, "") if method == "tools/list" else (by_git, f"{method} by git", without)
            yield f"{name}, p50", median(slow) / median(peer), 1.5, _ms(median(peer)) + more
            if method != "resources/read":
                yield f"{name}, p99", _p99(slow) / _p99(peer), 2.0, _ms(_p99(peer))


class _Server:
    """Asks a server line by line."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("expected pipes to the server, found none")
        self._to, self._from = process.stdin, process.stdout

    def send(self, method: str, params: _Params, number: int | None = None) -> None:
        """Send a request, or without a number a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.write(json.dumps(message if number is None else {**message, "id": number}).encode() + b"\n")

    def write(self, line: bytes) -> None:
        """Send a line as it is."""
        self._to.write(line)
        self._to.flush()

    def read(self) -> bytes:
        """Give the next line."""
        return self._from.readline()

    def ask(self, method: str, params: _Params) -> Any:  # noqa: ANN401 - what JSON says
        """Give the result of a request."""
        self.send(method, params, 1)
        return json.loads(self.read())["result"]

    def seconds(self, method: str, params: _Params) -> float:
        """Time a request, from before it is written until its answer is read, and not what parsing takes here."""
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"
        begun = time.perf_counter()
        self.write(line)
        answer = self.read()
        taken = time.perf_counter() - begun
        if b'"result"' not in answer:
            raise RuntimeError(answer.decode())
        return taken


@contextmanager
def _started(command: Sequence[str]) -> Iterator[_Server]:
    """Start a server and make the handshake."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        server = _Server(process)
        server.ask("initialize", _HANDSHAKE)
        server.send("notifications/initialized", {})
        try:
            yield server
        finally:
            process.communicate()  # which closes the pipe, so that the server ends by itself


def _first_answer(command: Sequence[str]) -> float:
    begun = time.perf_counter()
    with _started(command) as server:
        server.ask("tools/list", {})
        return time.perf_counter() - begun


def _answers(server: _Server) -> dict[str, Any]:
    """Take down what the server says, the pages of the skills by their cursor."""
    pages: dict[str, Any] = {}
    cursor = ""
    while not pages or cursor:
        pages[cursor] = server.ask("skills/list", {"cursor": cursor} if cursor else {})
        cursor = pages[cursor].get("nextCursor", "")
    if sum(len(page["skills"]) for page in pages.values()) != SKILLS:
        raise RuntimeError(f"expected {SKILLS} skills in the listing, found others")
    tools, read = server.ask("tools/list", {}), server.ask("resources/read", _READ)
    return {"tools/list": tools, "skills/list": pages, "resources/read": read}


def _times(servers: Sequence[_Server], method: str, params: Sequence[_Params]) -> list[list[float]]:
    """Ask each server in turn; give the seconds of each."""
    found: list[list[float]] = [[] for _ in servers]
    for given in islice(cycle(params), _BEFORE + _ASKED):
        for server, taken in zip(servers, found, strict=True):
            taken.append(server.seconds(method, given))
    return [taken[_BEFORE:] for taken in found]


def _p99(values: Sequence[float]) -> float:
    return quantiles(values, n=100)[98]


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f} ms"
