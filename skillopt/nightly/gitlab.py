"""GitLab merge requests, notes and issues, by python-gitlab.

python-gitlab's own waiting and retries are off, because ours have a deadline.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar
from urllib.parse import quote

import requests
from gitlab import Gitlab
from gitlab.exceptions import GitlabError
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from skillopt.errors import (
    ForgeAccessError,
    ForgeDownError,
    ForgeError,
    ForgeLimitError,
    ForgeMissingError,
    ForgeRefusedError,
)
from skillopt.nightly.forge_marks import DRAFT_TITLE, mark_of, marked, split_title
from skillopt.nightly.forges import ForgeAccount
from skillopt.protocols import Comment, Issue, PullRequest, RepositoryFacts
from skillopt.safety.credentials import mask
from skillopt.versions.commit_message import single_line

__all__ = ["GitLabForge"]

_SECONDS: Final = 30
_NEWEST: Final = 30
_DEVELOPER: Final = 30
"""The least access level that may push branches and open merge requests."""
_SERVER_FAULT: Final = 500
_LONGEST: Final = 500
_LATER: Final = "run this again later, nothing was lost"
_KINDS: Final[Mapping[int, tuple[type[ForgeError], str]]] = {
    400: (ForgeRefusedError, "change what it names and run this again"),
    401: (ForgeAccessError, "the token in GITLAB_TOKEN is wrong or has expired, set a new one"),
    403: (ForgeAccessError, "the token needs the scope `api` and the role Developer in the project"),
    404: (ForgeMissingError, "check the remote's address, and that the token may see the project"),
    409: (ForgeRefusedError, "change what it names and run this again"),
    422: (ForgeRefusedError, "change what it names and run this again"),
    429: (ForgeLimitError, _LATER),
}
_T = TypeVar("_T")


class _User(BaseModel):
    id: int
    username: str


class _Access(BaseModel):
    access_level: int


class _Permissions(BaseModel):
    project_access: _Access | None = None
    group_access: _Access | None = None


class _Project(BaseModel):
    id: int
    default_branch: str
    visibility: str
    archived: bool = False
    merge_requests_access_level: str = "enabled"
    permissions: _Permissions = _Permissions()


class _MergeRequest(BaseModel):
    model_config = ConfigDict(frozen=True)

    iid: int
    web_url: str
    state: Literal["opened", "closed", "locked", "merged"]
    sha: str | None
    title: str
    description: str | None
    labels: tuple[str, ...]
    author: _User | None
    target_branch: str
    source_project_id: int | None
    closed_at: datetime | None = None
    merged_at: datetime | None = None
    assignees: tuple[_User, ...] = ()
    reviewers: tuple[_User, ...] = ()


class _Note(BaseModel):
    id: int
    body: str
    author: _User | None
    created_at: datetime
    system: bool


class _Issue(BaseModel):
    iid: int
    web_url: str
    title: str
    description: str | None
    author: _User | None


class GitLabForge:
    """A project on GitLab."""

    def __init__(self, account: ForgeAccount, repository: str, seconds: int = _SECONDS) -> None:
        self._name = repository
        self._project = f"/projects/{quote(repository, safe='')}"
        self._gitlab = Gitlab(
            account.api.removesuffix("/api/v4"),
            oauth_token=account.token,  # the header that a redirect to another host loses
            timeout=seconds,
            user_agent="skillopt-mcp",
            per_page=100,
            keep_base_url=True,  # the token goes nowhere else, whatever the next page's address is
        )
        self._gitlab.session.hooks["response"].append(self._note_headers)
        self._headers: Mapping[str, str] = {}
        self._user: _User | None = None
        self._writers: dict[int, bool] = {}

    def facts(self) -> RepositoryFacts:
        """Return what the project is, and whether the token's role may open merge requests."""
        found = self._get(_Project, "", "read the project")
        access = (found.permissions.project_access, found.permissions.group_access)
        level = max((one.access_level for one in access if one is not None), default=0)
        reasons = (
            (found.archived, "the project is archived, so nothing can be changed in it"),
            (found.merge_requests_access_level == "disabled", "merge requests are switched off in its settings"),
            (
                level < _DEVELOPER,
                f"the token's access level in {self._name} is {level}; it needs {_DEVELOPER} (Developer)",
            ),
        )
        reason = next((words for holds, words in reasons if holds), "")
        public = found.visibility == "public"
        return RepositoryFacts(found.default_branch, public, self._me().username, not reason, reason)

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List the newest merge requests from a branch of this project, newest first."""
        query = {"source_branch": branch, "state": "all", "order_by": "created_at", "sort": "desc"}
        own = self._get(_Project, "", "read the project").id
        found = self._get(tuple[_MergeRequest, ...], "/merge_requests", "list the merge requests", **query)
        return tuple(_read(one) for one in found[:_NEWEST] if one.source_project_id == own)

    def comments(self, number: int) -> tuple[Comment, ...]:
        """List the notes of people under a merge request, oldest first, without what `comment` wrote."""
        page, own = self._merge_request(number).web_url, self._me().username
        people = (one for one in self._notes(number) if not (_login_of(one.author) == own and mark_of(one.body)[0]))
        return tuple(
            Comment(
                one.id,
                _login_of(one.author),
                one.body,
                one.created_at.astimezone(UTC).isoformat(),
                f"{page}#note_{one.id}",
                one.author is not None and self._may_write(one.author.id),
            )
            for one in people
        )

    def create(self, branch: str, into: str, title: str, body: str, *, draft: bool = False) -> PullRequest:
        """Open a merge request from a branch, or give the one that is open."""
        text = {"title": f"{DRAFT_TITLE}{title}" if draft else title, "description": body}
        branches = {"source_branch": branch, "target_branch": into}
        try:
            return _read(
                self._send(_MergeRequest, "post", "/merge_requests", "open a merge request", **text, **branches)
            )
        except ForgeRefusedError:
            opened = [one for one in self.pull_requests(branch) if one.state == "open"]
            if not opened:
                raise
            return opened[0]

    def update(self, number: int, title: str, body: str, *, draft: bool | None = None) -> None:
        """Return a merge request this title and text, and make it a draft or ready by its title."""
        is_draft = split_title(self._merge_request(number).title)[0] if draft is None else draft
        self._change(number, title=f"{DRAFT_TITLE}{title}" if is_draft else title, description=body)

    def label(
        self, number: int, labels: Sequence[str], reviewers: Sequence[str] = (), assignees: Sequence[str] = ()
    ) -> None:
        """Add labels, reviewers and assignees; where a plan allows one of these only, GitLab keeps the first."""
        found = self._merge_request(number)
        change: dict[str, object] = {"add_labels": ",".join(labels)} if labels else {}
        if reviewers:
            change["reviewer_ids"] = self._ids(found.reviewers, reviewers)
        if assignees:
            change["assignee_ids"] = self._ids(found.assignees, assignees)
        if change:
            self._change(number, **change)

    def comment(self, number: int, topic: str, body: str) -> None:
        """Post a note, or replace the own one about the same topic, which is found by a hidden mark."""
        text, own = marked(topic, body), self._me().username
        mine = (one for one in self._notes(number) if _login_of(one.author) == own)
        posted = next((one for one in mine if mark_of(one.body)[0] == topic), None)
        notes = f"/merge_requests/{number}/notes"
        if posted is None:
            self._send(_Note, "post", notes, "comment", body=text)
        elif posted.body != text:
            self._send(_Note, "put", f"{notes}/{posted.id}", "change a comment", body=text)

    def close(self, number: int) -> None:
        """Close a merge request without merging it."""
        self._change(number, state_event="close")

    def find_issue(self, topic: str) -> Issue | None:
        """Find the oldest issue about a topic that the own login wrote, open or closed."""
        found = self._issue(topic)
        return Issue(found.web_url, found.title, mark_of(found.description)[1]) if found else None

    def issue(self, topic: str, title: str, body: str) -> str:
        """Write the one issue about a topic; one that people have closed stays closed."""
        found, text = self._issue(topic), marked(topic, body)
        if found is None:
            return self._send(_Issue, "post", "/issues", "write an issue", title=title, description=text).web_url
        if (found.title, found.description) != (title, text):
            self._send(_Issue, "put", f"/issues/{found.iid}", "change an issue", title=title, description=text)
        return found.web_url

    def _merge_request(self, number: int) -> _MergeRequest:
        return self._get(_MergeRequest, f"/merge_requests/{number}", "read the merge request")

    def _change(self, number: int, **values: object) -> None:
        self._send(_MergeRequest, "put", f"/merge_requests/{number}", "change the merge request", **values)

    def _notes(self, number: int) -> list[_Note]:
        path = f"/merge_requests/{number}/notes"
        found = self._get(tuple[_Note, ...], path, "read the comments", sort="asc", order_by="created_at")
        return [one for one in found if not one.system]

    def _issue(self, topic: str) -> _Issue | None:
        own = self._me().username
        query = {"author_username": own, "state": "all", "order_by": "created_at", "sort": "asc"}
        found = self._get(tuple[_Issue, ...], "/issues", "list the issues", **query)
        mine = (one for one in found if _login_of(one.author) == own)
        return next((one for one in mine if mark_of(one.description)[0] == topic), None)

    def _me(self) -> _User:
        """Ask whom the token belongs to."""
        if self._user is None:
            self._user = self._read(_User, "/user", "name the user of the token for merge requests")
        return self._user

    def _may_write(self, user: int) -> bool:
        """Return whether somebody may push, as a member of the project or of a group above it."""
        if user not in self._writers:
            try:
                found = self._get(_Access, f"/members/all/{user}", "read the access level of a member")
                self._writers[user] = found.access_level >= _DEVELOPER
            except ForgeMissingError:
                self._writers[user] = False
        return self._writers[user]

    def _ids(self, present: Sequence[_User], names: Sequence[str]) -> list[int]:
        """Return the ids of users who are there already, and of those named."""
        found = [one.id for one in present]
        for name in names:
            users = self._read(tuple[_User, ...], "/users", f"find the user {name!r} for merge requests", username=name)
            if not users:
                message = f"GitLab: expected a user {name!r} to review or take the merge request, found none"
                raise ForgeRefusedError(f"{message}; correct `reviewers` and `assignees` in [nightly]")
            found.append(users[0].id)
        return list(dict.fromkeys(found))

    def _get(self, kind: type[_T], path: str, doing: str, **query: object) -> _T:
        return self._read(kind, f"{self._project}{path}", doing, **query)

    def _read(self, kind: type[_T], path: str, doing: str, **query: object) -> _T:
        """Ask for one thing, or for all pages of a list, where `kind` is a tuple."""
        with self._asking(doing):
            if kind in (_User, _Project, _MergeRequest, _Access):
                return _typed(kind, self._gitlab.http_get(path, query_data=query, obey_rate_limit=False))
            found = self._gitlab.http_list(path, query_data=query, get_all=True, obey_rate_limit=False)
            return _typed(kind, list(found))

    def _send(self, kind: type[_T], verb: str, path: str, doing: str, **values: object) -> _T:
        with self._asking(doing):
            url, send = f"{self._project}{path}", getattr(self._gitlab, f"http_{verb}")
            return _typed(kind, send(url, post_data=values, obey_rate_limit=False))

    def _note_headers(self, response: requests.Response, *_: object, **__: object) -> None:
        """Keep the headers of the newest answer, which the client's exceptions lack."""
        self._headers = response.headers

    @contextmanager
    def _asking(self, doing: str) -> Iterator[None]:
        """Translate the client's exceptions."""
        what = f"{doing} of {self._name}"
        try:
            yield
        except GitlabError as error:
            raise self._error(error, what) from error
        except requests.Timeout as error:
            message = f"GitLab did not answer in time when asked to {what}; run this again later"
            raise ForgeDownError(message) from error
        except requests.RequestException as error:
            reason = mask(single_line(str(error)))
            message = f"cannot reach GitLab to {what}: {reason}; check the network and forge_url"
            raise ForgeDownError(message) from error
        except (ValidationError, TypeError) as error:
            message = f"GitLab: expected an answer of its API to {what}, found another; check forge_url"
            raise ForgeDownError(message) from error

    def _error(self, error: GitlabError, what: str) -> ForgeError:
        status = error.response_code
        if status is None:
            return ForgeDownError(f"GitLab: expected an answer of its API to {what}, found another; check forge_url")
        words = mask(single_line(str(error.error_message)))[:_LONGEST] or "no reason given"
        said, text = f"GitLab would not {what}: HTTP {status}: {words}", self._headers.get("Retry-After", "")
        wait = float(text) if text.isdecimal() else None
        if status >= _SERVER_FAULT:
            return ForgeDownError(f"{said}; {_LATER}", wait)
        kind, advice = _KINDS.get(status, (ForgeError, "look at docs.gitlab.com/api and status.gitlab.com"))
        return kind(f"{said}; {advice}", wait)


def _typed(kind: type[_T], answer: Any) -> _T:  # noqa: ANN401 - what the client gives is of any shape until here
    return TypeAdapter(kind).validate_python(answer)


def _read(found: _MergeRequest) -> PullRequest:
    states: dict[str, Literal["open", "closed", "merged"]] = {"opened": "open", "locked": "open"}
    state: Literal["open", "closed", "merged"] = (
        "merged" if found.state == "merged" else states.get(found.state, "closed")
    )
    draft, title = split_title(found.title)
    ended = found.merged_at or found.closed_at
    return PullRequest(
        found.iid,
        found.web_url,
        state,
        found.sha or "",
        title,
        found.description or "",
        draft=draft,
        labels=found.labels,
        author=_login_of(found.author),
        base=found.target_branch,
        closed_at=ended.astimezone(UTC).isoformat() if ended else "",
    )


def _login_of(user: _User | None) -> str:
    """Return a login, empty where the account is gone."""
    return user.username if user is not None else ""
