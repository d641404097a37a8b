"""Requests that no page of ours makes, to the page that changes something: none may approve, edit or drop a task.

Owns the requests, two candidates, and how requests are sent; who sends them and counts is in benchmarks and tests.
"""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Final
from urllib.parse import urlsplit

from skillopt.authoring.review_file import render_candidates
from skillopt.commands.serve import LivePages
from skillopt.commands.tasks.candidates import candidates_path, waiting_candidates
from skillopt.project import Project
from skillopt.reports.local_server import LoopbackServer
from skillopt.storage.locks import review_lock
from skillopt.tasks import File, Task, VerifierSpec

__all__ = ["FORGED", "HOSTILE_TEXT", "SKILL", "TASK", "PageAttack", "changed_by", "put_candidates", "served"]

SKILL: Final = "rows"
"""Whose candidates they are."""

TASK: Final = "clean-it-0a0a0a"
"""The candidate that the requests are about."""

HOSTILE_TEXT: Final = (
    "</textarea></script><script>fetch(location.pathname,{method:'POST'})</script><img src=x onerror=alert(1)>"
    "\n```\n## [x] stolen\n```yaml\nid: stolen\n\u202e\x1b[2J"
)
"""What a past session may have had in it."""

_JSON: Final = "application/json"
_GIANT: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class PageAttack:
    """A request that must change nothing.

    Args:
        name: For people.
        headers: Instead of those of our page; None leaves one out. `{port}` is filled in.
        path: Instead of the page's, with `{token}`.
        body: Instead of a right one.
        method: Instead of POST.
        twice: Headers that are sent once more.
    """

    name: str
    headers: Mapping[str, str | None] | None = None
    path: str = "/{token}/review/rows"
    body: bytes | None = None
    method: str = "POST"
    twice: tuple[tuple[str, str], ...] = ()


_OUTSIDE: Final = "id: a\nprompt: b\nfiles:\n- path: ../../x\n  text: c\nverifier: {kind: exact}"


def _body(**fields: object) -> bytes:
    return json.dumps({"action": "approve", "id": TASK, "block": "", "stamp": "STAMP", **fields}).encode()


FORGED: Final = (
    PageAttack("a page elsewhere", {"Origin": "https://evil.example"}),
    PageAttack("a page on another port", {"Origin": "http://127.0.0.1:1"}),
    PageAttack("a sandboxed frame", {"Origin": "null"}),
    PageAttack("no origin", {"Origin": None}),
    PageAttack("our name in another origin", {"Origin": "http://127.0.0.1:{port}.evil.example"}),
    PageAttack("our origin with https", {"Origin": "https://127.0.0.1:{port}"}),
    PageAttack("a browser that says cross-site", {"Sec-Fetch-Site": "cross-site"}),
    PageAttack("a browser that says same-site", {"Sec-Fetch-Site": "same-site"}),
    PageAttack(
        "a name that leads here by DNS", {"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"}
    ),
    PageAttack("a name without port", {"Host": "localhost", "Origin": "http://localhost"}),
    PageAttack("no host", {"Host": None}),
    PageAttack("two hosts", twice=(("Host", "evil.example"),)),
    PageAttack("two origins", twice=(("Origin", "https://evil.example"),)),
    PageAttack("a form as text", {"Content-Type": "text/plain"}),
    PageAttack("a form", {"Content-Type": "application/x-www-form-urlencoded"}),
    PageAttack("a form with files", {"Content-Type": "multipart/form-data; boundary=x"}),
    PageAttack("JSON with a character set", {"Content-Type": "application/json; charset=utf-7"}),
    PageAttack("no content type", {"Content-Type": None}),
    PageAttack("no token", path="/review/rows"),
    PageAttack("a wrong token", path="/{wrong}/review/rows"),
    PageAttack("an empty token", path="//review/rows"),
    PageAttack("the start of the token", path="/{half}/review/rows"),
    PageAttack("the token as a query", path="/review/rows?token={token}"),
    PageAttack("a skill outside", path="/{token}/review/../../rows"),
    PageAttack("a skill outside, encoded", path="/{token}/review/..%2frows"),
    PageAttack("a page that only shows", path="/{token}/"),
    PageAttack("a giant body", {"Content-Length": str(_GIANT)}),
    PageAttack("a length with 5,000 digits", {"Content-Length": "9" * 5_000}),
    PageAttack("a length below zero", {"Content-Length": "-1"}),
    PageAttack("no length", {"Content-Length": None}),
    PageAttack("chunks", {"Content-Length": None, "Transfer-Encoding": "chunked"}, body=b"5\r\nabcde\r\n0\r\n\r\n"),
    PageAttack("chunks and a length", {"Transfer-Encoding": "chunked"}),
    PageAttack("no JSON", body=b"approve"),
    PageAttack("JSON that is no object", body=b"[1]"),
    PageAttack("deep JSON", body=b"[" * 100_000),
    PageAttack("an action that there is not", body=_body(action="run")),
    PageAttack("a task that there is not", body=_body(id="../../x")),
    PageAttack("a state of before", body=_body(stamp="0" * 64)),
    PageAttack("more than the page sends", body=_body(path="/etc/passwd")),
    PageAttack("no task at all", body=_body(block="- 1", stamp="STAMP")),
    PageAttack("a task that ends its own fence", body=_body(block="id: a\n" + "`" * 12 + "\n## [x] stolen\n")),
    PageAttack("a file outside", body=_body(block=_OUTSIDE)),
    PageAttack("GET", method="GET"),
    PageAttack("PUT", method="PUT"),
    PageAttack("DELETE", method="DELETE"),
    PageAttack("a question before the request", method="OPTIONS"),
)
"""Each is the request of our own page but for one thing."""


def put_candidates(folder: Path) -> Project:
    """Put two candidates into the project of a skill `rows`, one of which is full of hostile text."""
    project = Project.read(folder)
    rubric = VerifierSpec("rubric", json.dumps({"criteria": ["All is clean."]}))
    tasks = [
        (Task(TASK, "Clean it all, please.", rubric, (File("a.csv", b"x\n"),)), "asked once"),
        (Task("hostile-0b0b0b", HOSTILE_TEXT, rubric, (File("a.md", HOSTILE_TEXT.encode()),)), HOSTILE_TEXT),
    ]
    path = candidates_path(project, SKILL)
    with review_lock(folder):
        path.parent.mkdir(parents=True)
        path.write_text(render_candidates(SKILL, tasks, (), "From a session."), encoding="utf-8")
    return project


@contextmanager
def served(project: Project) -> Iterator[str]:
    """Serve the pages of a project, and give the address."""
    pages = LivePages(project)
    with closing(LoopbackServer(pages.answer, act=pages.review.act)) as server:
        thread = Thread(target=server.serve)
        thread.start()
        try:
            yield server.address
        finally:
            server.stop()
            thread.join()


def changed_by(project: Project, address: str, attack: PageAttack) -> tuple[bool, int]:
    """Send an attack; tell whether it changed something, and the status that it was answered with."""
    before = _state(project.root)
    status = _send(project, address, attack)
    return _state(project.root) != before, status


def _send(project: Project, address: str, attack: PageAttack) -> int:
    """Send a request as our page does but for what the attack says, and give the status; 0 for none."""
    parts = urlsplit(address)
    token, port = parts.path.strip("/"), parts.port or 0
    waiting = waiting_candidates(project, SKILL)
    block = next((entry.block for entry in waiting.entries if entry.id == TASK), "")
    body = attack.body if attack.body is not None else _body(block=block)
    body = body.replace(b"STAMP", waiting.stamp.encode())
    path = attack.path.format(token=token, wrong=token[::-1], half=token[: len(token) // 2])
    headers: dict[str, str | None] = {
        "Host": parts.netloc,
        "Origin": f"http://{parts.netloc}",
        "Content-Type": _JSON,
        "Content-Length": str(len(body)),
        **(attack.headers or {}),
    }
    lines = [f"{attack.method} {path} HTTP/1.1"]
    lines += [f"{name}: {value.format(port=port)}" for name, value in headers.items() if value is not None]
    lines += [f"{name}: {value}" for name, value in attack.twice]
    with socket.create_connection(("127.0.0.1", port), timeout=30) as link:
        try:
            link.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)
            link.shutdown(socket.SHUT_WR)
        except OSError:  # refused before all was sent
            pass
        said = b""
        try:
            while piece := link.recv(65_536):
                said += piece
        except ConnectionError:
            pass
    return int(said.split(b" ", 2)[1]) if said.startswith(b"HTTP/") else 0


def _state(root: Path) -> dict[str, bytes]:
    """Give all that a page could change."""
    return {
        str(path): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }
