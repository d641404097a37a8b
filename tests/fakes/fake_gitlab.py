"""A loopback stand-in for GitLab's REST API: one project with its merge requests, notes and members."""

import re
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from urllib.parse import quote, unquote

from tests.fakes.projects import git
from tools.fake_providers.loopback import Answer, Body, LoopbackServer, Requested, as_json, serve

_PAGE = 2
_LEVELS = {"ada": 30, "eve": 20, "mo": 40}


@dataclass
class FakeGitLab:
    """A project on GitLab."""

    repository: Path
    name: str = "acme/tools/skills"
    fault: Callable[[Requested], Answer | None] = lambda _: None
    login: str = "project_7_bot"
    level: int = 30
    project: Body = field(default_factory=dict)
    merge_requests: dict[int, Body] = field(default_factory=dict)
    notes: dict[int, list[Body]] = field(default_factory=dict)
    threads: dict[int, list[Body]] = field(default_factory=dict)
    users: list[str] = field(default_factory=lambda: ["project_7_bot", "ada", "eve", "mo", "stranger"])
    lock: Lock = field(default_factory=Lock)
    server: LoopbackServer | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"{self.server.url}/api/v4"

    @property
    def writes(self) -> list[str]:
        """List what was asked to change, in order."""
        assert self.server is not None
        path = f"/api/v4/projects/{quote(self.name, safe='')}"
        changes = (asked for asked in self.server.requests if asked.method in ("POST", "PUT"))
        return [f"{asked.method} {asked.path.removeprefix(path)}" for asked in changes]

    def said(self, number: int) -> list[str]:
        """List the notes under a merge request."""
        return [note["body"] for note in self.notes.get(number, [])]

    def say(self, number: int, author: str, text: str, *, system: bool = False) -> Body:
        """Write a note under a merge request as somebody would."""
        identity = sum(map(len, self.notes.values())) + 1
        at = f"2026-01-02T03:04:{identity % 60:02}.000Z"
        note = {
            "id": identity,
            "body": text,
            "author": self._user(author) if author else None,
            "created_at": at,
            "system": system,
        }
        self.notes.setdefault(number, []).append(note)
        return note

    def answer(self, asked: Requested) -> Answer:
        """Answer one request, one at a time."""
        with self.lock:
            return self.fault(asked) or self._route(asked)

    def _route(self, asked: Requested) -> Answer:
        if not asked.headers.get("Authorization", "").startswith("Bearer "):
            return as_json(401, {"message": "401 Unauthorized"})
        path = asked.path.removeprefix("/api/v4").removeprefix(f"/projects/{quote(self.name, safe='')}")
        numbers = [int(one) for one in re.findall(r"(?<=/)\d+", path)]
        number = numbers[0] if numbers else 0
        shape = f"{asked.method} {re.sub(r'(?<=/)[0-9]+', 'N', path)}"
        if path.startswith("/repository/files/"):
            return self._file(unquote(path.removeprefix("/repository/files/")), asked.query["ref"])
        if path.startswith("/merge_requests/") and number not in self.merge_requests:
            return as_json(404, {"message": "404 Not found"})
        routes: dict[str, Callable[[], Answer]] = {
            "GET ": lambda: as_json(200, self._facts()),
            "GET /user": lambda: as_json(200, self._user(self.login)),
            "GET /users": lambda: self._page(
                asked, [self._user(name) for name in self.users if name == asked.query["username"]]
            ),
            "GET /members/all/N": lambda: self._member(number),
            "GET /merge_requests": lambda: self._page(asked, self._listed(asked.query)),
            "POST /merge_requests": lambda: self._open(asked.body),
            "GET /merge_requests/N": lambda: as_json(200, self._shown(number)),
            "PUT /merge_requests/N": lambda: self._change(number, asked.body),
            "GET /merge_requests/N/notes": lambda: self._page(asked, self.notes.get(number, [])),
            "GET /merge_requests/N/discussions": lambda: self._page(asked, self.threads.get(number, [])),
            "POST /merge_requests/N/notes": lambda: as_json(201, self.say(number, self.login, asked.body["body"])),
            "PUT /merge_requests/N/notes/N": lambda: self._edit_note(number, numbers[-1], asked.body["body"]),
        }
        return routes.get(shape, lambda: as_json(404, {"error": "404 Not Found"}))()

    def _facts(self) -> Body:
        access = {"project_access": {"access_level": self.level}, "group_access": None}
        return {"id": 7, "default_branch": "main", "visibility": "private", "permissions": access, **self.project}

    def _user(self, name: str) -> Body:
        return {"id": self.users.index(name) + 1, "username": name, "name": name.title()}

    def _member(self, identity: int) -> Answer:
        name = self.users[identity - 1]
        if name not in _LEVELS:
            return as_json(404, {"message": "404 Not found"})
        return as_json(200, {"id": identity, "username": name, "access_level": _LEVELS[name]})

    def _page(self, asked: Requested, found: list[Body]) -> Answer:
        """Answer two at a time, so that clients must go on to the next page."""
        page = int(asked.query.get("page", 1))
        query = "&".join(f"{key}={value}" for key, value in {**asked.query, "page": page + 1}.items())
        more = len(found) > page * _PAGE
        assert self.server is not None
        link = {"Link": f'<{self.server.url}{asked.path}?{query}>; rel="next"'} if more else {}
        return as_json(200, found[(page - 1) * _PAGE : page * _PAGE], link)

    def _listed(self, query: dict[str, str]) -> list[Body]:
        assert (query["state"], query["order_by"], query["sort"]) == ("all", "created_at", "desc")
        shown = [self._shown(number) for number in reversed(self.merge_requests)]
        return [one for one in shown if one["source_branch"] == query.get("source_branch", one["source_branch"])]

    def review(self, number: int, author: str, path: str, line: int, text: str, commit: str) -> None:
        """Begin a discussion on a line of a merge request as a reviewer would, with an answer of the author."""
        place = {"new_path": path, "new_line": line, "head_sha": commit, "line_range": None}
        note = self.say(number, author, text) | {"type": "DiffNote", "position": place}
        answer = self.say(number, self.login, "Done") | {"type": "DiffNote", "position": place}
        self.threads.setdefault(number, []).append({"id": str(note["id"]), "notes": [note, answer]})

    def _file(self, path: str, commit: str) -> Answer:
        shown = subprocess.run(
            ["git", "show", f"{commit}:{path}"], cwd=self.repository, capture_output=True, check=False
        )
        if shown.returncode:
            return as_json(404, {"message": "404 File Not Found"})
        content = {"encoding": "base64", "content": b64encode(shown.stdout).decode()}
        return as_json(200, {"file_path": path, "ref": commit, **content})

    def _open(self, body: Body) -> Answer:
        branch = body["source_branch"]
        opened = [one for one in self.merge_requests.values() if one["source_branch"] == branch]
        if any(one["state"] == "opened" for one in opened):
            return as_json(409, {"message": ["Another open merge request already exists for this source branch: !1"]})
        if not self._tip(branch):
            return as_json(400, {"message": {"source_branch": ["does not exist"]}})
        number = len(self.merge_requests) + 1
        mine = {"iid": number, "state": "opened", "author": self._user(self.login), "source_project_id": 7}
        self.merge_requests[number] = {**mine, "labels": [], **body}
        return as_json(201, self._shown(number))

    def _change(self, number: int, body: Body) -> Answer:
        one = self.merge_requests[number]
        one |= {key: body[key] for key in ("title", "description") if key in body}
        if body.get("state_event") == "close":
            one |= {"state": "closed", "closed_at": "2026-01-02T03:04:05.000Z"}
        one["labels"] += [name for name in body.get("add_labels", "").split(",") if name and name not in one["labels"]]
        for what in ("reviewer", "assignee"):
            if f"{what}_ids" in body:
                one[f"{what}s"] = [self._user(self.users[identity - 1]) for identity in body[f"{what}_ids"]]
        return as_json(200, self._shown(number))

    def _edit_note(self, number: int, identity: int, text: str) -> Answer:
        (note,) = (one for one in self.notes[number] if one["id"] == identity)
        note["body"] = text
        return as_json(200, note)

    def _shown(self, number: int) -> Body:
        """Show a merge request; the head of an open one follows its branch, a closed one's stays."""
        one = self.merge_requests[number]
        if one["state"] == "opened":
            one["sha"] = self._tip(one["source_branch"])
        draft = one["title"].startswith("Draft: ")
        return {**one, "draft": draft, "web_url": f"https://gitlab.com/{self.name}/-/merge_requests/{number}"}

    def _tip(self, branch: str) -> str:
        return git(self.repository, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")


@contextmanager
def fake_gitlab(repository: Path) -> Iterator[FakeGitLab]:
    """Serve a project for the length of a `with` block."""
    forge = FakeGitLab(repository)
    with serve(forge.answer) as server:
        forge.server = server
        yield forge
