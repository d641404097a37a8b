"""How fast the MCP server answers, beside a hello-world server on the same SDK.

Over stdio, with a repository of 100 skills, one of them of 50 KB. What the server is compared with is in hello_mcp.
All are asked in turn, so that a change of the machine's speed meets them alike.

What depends on the repository is compared with a hello-world that has git list the branches before each answer. The
server does so too, and keeps no answer that it has not checked: a version is served from the moment it is accepted.
To start git takes longer than all the rest of such an answer; how much longer is in the remark.
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

from skillopt.tasks import File
from skillopt.versions.repository import NewVersion, Repository
from tools.skill_repository import make_many

__all__ = ["SKILLS", "list_skills_times", "mcp_ratios"]

SKILLS = 100

_MANY = (("1,000 skills of 20 versions", (1000, 20, 1)), ("343 skills in a history of 600 commits", (343, 1, 600)))
_COLD, _WARM = 5, 9

_BIG = "skill-000"
_BYTES = 50_000
_STARTS = 15
_ASKED = 1_000
_BEFORE = 100  # requests that are not timed
_HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
_LIST_SKILLS = {"name": "list_skills", "arguments": {}}
_READ = {"uri": f"skill://{_BIG}/SKILL.md"}
_Params = Mapping[str, object]


def mcp_ratios(scratch: Path) -> Iterator[tuple[str, float, float, str]]:
    """Yield (what, ratio, limit, remark) for the start of the process and for three kinds of request.

    Args:
        scratch: A folder that is there; the repository is made in it.
    """
    folder = _make_skills(scratch / "skills")
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


def list_skills_times(scratch: Path) -> Iterator[tuple[str, float, float]]:
    """Yield (what, milliseconds, limit) for the tool `list_skills` in large repositories.

    Cold is the first answer of a new server, after the handshake; warm is what follows. Both are medians, and the
    limits are for a machine that does nothing else.

    Args:
        scratch: A folder that is there; the repositories are made in it.
    """
    for number, (what, size) in enumerate(_MANY):
        folder = make_many(scratch / f"many-{number}", *size)
        cold, warm = [], []
        for _ in range(_COLD):
            with _started([sys.executable, "-m", "skillopt_mcp", "-C", str(folder)]) as server:
                first, *others = (server.seconds("tools/call", _LIST_SKILLS) for _ in range(1 + _WARM))
            cold.append(first)
            warm += others
        yield f"list_skills, {what}, cold", 1000 * median(cold), 300.0
        yield f"list_skills, {what}, warm", 1000 * median(warm), 30.0


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


def _make_skills(folder: Path) -> Path:
    """Make a repository with an accepted version of each skill."""
    folder.mkdir()
    author = ("-c", "user.name=Benchmark", "-c", "user.email=benchmark@localhost")
    for arguments in (("init", "--quiet"), (*author, "commit", "--quiet", "--allow-empty", "-m", "Begin")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    repository = Repository.find(folder)
    parent = repository.head() or ""
    names = [f"skill-{number:03}" for number in range(SKILLS)]
    entries = (f'[skills.{name}]\npath = "skills/{name}"\n' for name in names)
    (folder / "skillopt.toml").write_text("".join(entries), encoding="utf-8")
    for name in names:
        document = _document(name, _BYTES if name == _BIG else 2_000)
        draft = NewVersion(
            skill=name,
            path=f"skills/{name}",
            files=(File("SKILL.md", document), File("scripts/run.sh", b"#!/bin/sh\n")),
            subject=f"{name}: begin",
            body="",
            trailers=(("Skill", name),),
            at="2026-01-02T03:04:05+00:00",
            parent=parent,
            expected_tip=None,
        )
        repository.commit_version(draft)
    return folder


def _document(name: str, size: int) -> bytes:
    head = f"---\nname: {name}\ndescription: Cleans vendor tables as {name} says.\n---\n# Rules\n\n"
    rule = "- Trim the spaces around every value before it is compared with another one.\n"
    return (head + rule * (1 + (size - len(head)) // len(rule))).encode()
