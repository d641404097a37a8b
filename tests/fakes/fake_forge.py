"""A loopback stand-in for GitHub's APIs: one repository with its pull requests and comments.

`forge.fault` decides what goes wrong. Branches are those of a bare repository.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Lock
from urllib.parse import unquote

from tests.fakes.projects import git
from tools.fake_providers.loopback import Answer, Body, LoopbackServer, Requested, as_json, serve

_LONGEST = 65_536
_LONGEST_TITLE = 256


@dataclass
class FakeForge:
    """A repository on a forge."""

    repository: Path | None = None
    name: str = "acme/skills"
    fault: Callable[[Requested], Answer | None] = lambda _: None
    has_drafts: bool = True
    pulls: dict[int, Body] = field(default_factory=dict)
    comments: dict[int, list[Body]] = field(default_factory=dict)
    login: str = "skillopt[bot]"
    public: bool = False
    permissions: dict[str, str] = field(default_factory=lambda: {"ada": "write", "eve": "read"})
    checks: list[Body] = field(default_factory=list)
    may_check: bool = True
    lock: Lock = field(default_factory=Lock)
    server: LoopbackServer | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        return self.server.url

    @property
    def writes(self) -> list[str]:
        """List what was asked to change, in order; questions that are POSTs are left out."""
        assert self.server is not None
        return [f"{asked.method} {asked.path}" for asked in self.server.requests if _changes(asked)]

    def cut(self, write: int, *, after: bool) -> list[str]:
        """Cut the network for good at a write: before it arrives, or after it is done and nobody was told."""
        seen, cut = count(), list[str]()

        def fail(asked: Requested) -> Answer | None:
            if not cut and (not _changes(asked) or next(seen) < write):
                return None
            if not cut:
                cut.append(f"{asked.method} {asked.path}")
                if after:
                    self._route(asked)
            return FAULTS["hangs up"]

        self.fault = fail
        return cut

    def mend(self) -> None:
        """Let nothing go wrong any more."""
        self.fault = lambda _: None

    def say(self, number: int, author: str, text: str) -> None:
        """Comment under a pull request as somebody would."""
        self._comment(number, text, author)

    def tick(self, number: int, edit: int, *, ticked: bool) -> None:
        """Tick or untick the box of an edit in the body of a pull request, as a person would."""
        was, now = (" ", "x") if ticked else ("x", " ")
        body = self.pulls[number]["body"]
        assert f"- [{was}] **{edit}**" in body, (edit, body)
        self.pulls[number]["body"] = body.replace(f"- [{was}] **{edit}**", f"- [{now}] **{edit}**")

    def propose(self, branch: str, **facts: str) -> Body:
        """Open a pull request as somebody would; with `home` and `sha`, of a branch of a fork. Give it as events do."""
        number = len(self.pulls) + 1
        given = {"number": number, "branch": branch, "base": "main", "state": "open", "title": branch, "body": ""}
        self.pulls[number] = {**given, "draft": False, "merged_at": None, "author": "ada", **facts}
        return self._shown(self.pulls[number])

    def reopen(self, number: int) -> None:
        """Reopen a pull request that was closed, as a person would."""
        self.pulls[number] |= {"state": "open", "closed_at": None, "merged_at": None}

    def set_state(self, number: int, *, merged: bool = False) -> None:
        """Close a pull request as a person would, or merge it."""
        when = "2026-01-02T03:04:05Z"
        self._shown(self.pulls[number])  # its head is where the branch is now
        self.pulls[number] |= {"state": "closed", "closed_at": when, "merged_at": when if merged else None}

    def said(self, number: int) -> list[str]:
        """List the comments under a pull request."""
        return [comment["body"] for comment in self.comments.get(number, [])]

    def answer(self, asked: Requested) -> Answer:
        """Answer one request, one at a time."""
        with self.lock:
            return self.fault(asked) or self._route(asked)

    def _route(self, asked: Requested) -> Answer:
        if not asked.headers.get("Authorization", "").startswith("token "):
            return refusal(401, "Requires authentication")
        path = asked.path.removeprefix(f"/repos/{self.name}")
        number = int(next(iter(re.findall(r"(?<=/)\d+", path)), 0))
        shape = f"{asked.method} {re.sub(r'(?<=/)[0-9]+', 'N', path)}"
        if number and number not in self.pulls and "comments/N" not in shape:
            return refusal(404, "Not Found")
        if path.startswith("/collaborators/"):
            return self._permission(path.split("/")[2])
        routes: dict[str, Callable[[], Answer]] = {
            "GET ": lambda: as_json(200, self._facts()),
            "POST /graphql": lambda: self._graphql(asked.body),
            "POST /check-runs": lambda: self._check_run(asked.body),
            "GET /pulls": lambda: as_json(200, self._listed(asked.query)),
            "POST /pulls": lambda: self._open(asked.body),
            "GET /pulls/N": lambda: as_json(200, self._shown(self.pulls[number])),
            "PATCH /pulls/N": lambda: self._change(number, asked.body),
            "GET /issues/N/comments": lambda: as_json(200, self.comments.get(number, [])),
            "POST /issues/N/comments": lambda: self._comment(number, asked.body["body"], self.login),
            "PATCH /issues/comments/N": lambda: self._edit_comment(number, asked.body["body"]),
        }
        return routes.get(shape, lambda: refusal(404, "Not Found"))()

    def _check_run(self, body: Body) -> Answer:
        if not self.may_check:
            return refusal(403, _INTEGRATION)
        self.checks.append(body)
        return as_json(201, {**body, "id": len(self.checks)})

    def _facts(self) -> Body:
        shown = {"full_name": self.name, "default_branch": "main", "url": self._at("")}
        return {**shown, "private": not self.public, "archived": False}

    def _permission(self, login: str) -> Answer:
        found = self.permissions.get(unquote(login))
        if found is None:
            return refusal(404, f"{login} is not a user")
        may_push = {"push": found in ("admin", "write")}
        return as_json(200, {"permission": found, "user": {"login": login, "permissions": may_push}})

    def _graphql(self, body: Body) -> Answer:
        if "viewer" in body["query"]:
            return as_json(200, {"data": {"viewer": {"login": self.login}}})
        asked = body["variables"]["input"]
        pull = self.pulls[int(asked["pullRequestId"].removeprefix("PR_"))]
        (name,) = (
            one for one in ("convertPullRequestToDraft", "markPullRequestReadyForReview") if one in body["query"]
        )
        if not self.has_drafts:
            return as_json(200, {"data": {name: None}, "errors": [{"type": "UNPROCESSABLE", "message": _NO_DRAFTS}]})
        pull["draft"] = name.startswith("convert")
        return as_json(200, {"data": {name: {"pullRequest": {"isDraft": pull["draft"]}}}})

    def _comment(self, number: int, text: str, author: str) -> Answer:
        identity = sum(map(len, self.comments.values())) + 1
        said = {
            "id": identity,
            "body": text,
            "url": self._at(f"/issues/comments/{identity}"),
            "html_url": f"https://github.com/{self.name}/pull/{number}#issuecomment-{identity}",
            "user": {"login": author} if author else None,
            "created_at": f"2026-01-02T03:04:{identity % 60:02}Z",
            "author_association": "NONE",
        }
        self.comments.setdefault(number, []).append(said)
        return as_json(201, said)

    def _edit_comment(self, identity: int, text: str) -> Answer:
        (one,) = (one for said in self.comments.values() for one in said if one["id"] == identity)
        one["body"] = text
        return as_json(200, one)

    def _listed(self, query: dict[str, str]) -> list[Body]:
        owner, _, branch = query["head"].partition(":")
        assert (owner, query["sort"], query["direction"]) == (self.name.split("/")[0], "created", "desc")
        newest = [self._shown(pull) for pull in reversed(self.pulls.values())]
        return [pull for pull in newest if pull["head"]["ref"] == branch and query["state"] in ("all", pull["state"])]

    def _open(self, body: Body) -> Answer:
        branch = body["head"]
        if any(pull["branch"] == branch and pull["state"] == "open" for pull in self.pulls.values()):
            return _invalid(code="custom", message=f"A pull request already exists for {self.name}:{branch}.")
        if self.repository is not None and not self._tip(branch):
            return _invalid(field="head", code="invalid")
        if branch == body["base"] or (self.repository is not None and self._tip(branch) == self._tip(body["base"])):
            return _invalid(code="custom", message=f"No commits between {body['base']} and {branch}")
        if (answer := _check(body)) is not None:
            return answer
        if body.get("draft") and not self.has_drafts:
            return _invalid(field="draft", code="custom", message=_NO_DRAFTS)
        number = len(self.pulls) + 1
        pull = {"draft": bool(body.get("draft")), "number": number, "branch": branch, "state": "open", "sha": ""}
        self.pulls[number] = {**body, **pull, "merged_at": None, "author": self.login}
        return as_json(201, self._shown(self.pulls[number]))

    def _change(self, number: int, body: Body) -> Answer:
        if (answer := _check(body)) is not None:
            return answer
        if body.get("state") == "closed":
            self.set_state(number)
        self.pulls[number] |= {key: body[key] for key in ("title", "body") if key in body}
        return as_json(200, self._shown(self.pulls[number]))

    def _shown(self, pull: Body) -> Body:
        """Show a pull request; the head of an open one follows its branch, a closed one's stays."""
        if pull["state"] == "open" and self.repository is not None and "home" not in pull:
            pull["sha"] = self._tip(pull["branch"])
        number, branch = pull["number"], pull["branch"]
        home = {"repo": {"full_name": pull.get("home", self.name)}}
        return {
            "url": self._at(f"/pulls/{number}"),
            "issue_url": self._at(f"/issues/{number}"),
            "html_url": f"https://github.com/{self.name}/pull/{number}",
            **{key: pull[key] for key in ("number", "state", "merged_at", "title", "body", "draft")},
            "head": {"ref": branch, "sha": pull["sha"], "label": f"{self.name.split('/')[0]}:{branch}", **home},
            "base": {"ref": pull["base"], "repo": {"full_name": self.name}},
            "closed_at": pull.get("closed_at"),
            "node_id": f"PR_{number}",
            "user": {"login": pull["author"]},
        }

    def _tip(self, branch: str) -> str:
        assert self.repository is not None
        return git(self.repository, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")

    def _at(self, path: str) -> str:
        return f"{self.url}/repos/{self.name}{path}"


@contextmanager
def fake_forge(repository: Path | None = None) -> Iterator[FakeForge]:
    """Serve a forge for the length of a `with` block."""
    forge = FakeForge(repository)
    with serve(forge.answer) as server:
        forge.server = server
        yield forge


def refusal(status: int, words: str, headers: dict[str, str] | None = None) -> Answer:
    """Answer with an error as the API words it."""
    url = "https://docs.github.com/rest"
    return as_json(status, {"message": words, "documentation_url": url, "status": str(status)}, headers)


_SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
_PRIMARY = "API rate limit exceeded for installation ID 7."
_ACTIONS = "GitHub Actions is not permitted to create or approve pull requests."
_INTEGRATION = "Resource not accessible by integration"
_NO_DRAFTS = "Draft pull requests are not supported in this repository."

FAULTS: dict[str, Answer] = {
    "401": refusal(401, "Bad credentials"),
    "403 permission": refusal(403, _INTEGRATION, {"x-accepted-github-permissions": "pull_requests=write"}),
    "403 actions": refusal(403, _ACTIONS),
    "403 secondary limit": refusal(403, _SECONDARY, {"retry-after": "3"}),
    "403 primary limit": refusal(403, _PRIMARY, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "4102444800"}),
    "404": refusal(404, "Not Found"),
    "422": as_json(422, {"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]}),
    "429": refusal(429, "Too many requests", {"retry-after": "2"}),
    "502": Answer(502, b"<html><h1>Bad gateway</h1></html>", "text/html"),
    "hangs up": Answer(503, b"", hang_up=True),
    "not json": Answer(200, b"<html>", "text/html"),
}
"""What each fault answers, by its name."""


def _changes(asked: Requested) -> bool:
    """Return whether a request changes anything: not one for the login, or for a pull request to the branch itself."""
    if asked.path.endswith("/graphql"):
        return "viewer" not in asked.body.get("query", "")
    if asked.path.endswith("/pulls") and asked.body.get("head") == asked.body.get("base"):
        return False
    return asked.method in {"POST", "PATCH"}


def _invalid(**error: str) -> Answer:
    return as_json(422, {"message": "Validation Failed", "errors": [{"resource": "PullRequest", **error}]})


def _check(body: Body) -> Answer | None:
    if len(body.get("body") or "") > _LONGEST:
        return _invalid(field="body", message=f"is too long (maximum is {_LONGEST})")
    if len(body.get("title") or "") > _LONGEST_TITLE:
        return _invalid(field="title", message="is too long")
    return None
