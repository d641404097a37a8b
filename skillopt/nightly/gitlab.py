"""GitLab merge requests and notes, by python-gitlab.

python-gitlab's own waiting and retries are off, because ours have a deadline.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, Literal

import requests
from gitlab import Gitlab
from gitlab.exceptions import GitlabError
from gitlab.v4.objects import ProjectMergeRequest

from skillopt.errors import (
    ForgeAccessError,
    ForgeDownError,
    ForgeError,
    ForgeLimitError,
    ForgeMissingError,
    ForgeRefusedError,
    network_words,
)
from skillopt.nightly.forges import DRAFT_TITLE, ForgeAccount, mark_of, marked, split_title
from skillopt.protocols import Comment, PullRequest, RepositoryFacts
from skillopt.safety.credentials import mask
from skillopt.versions.commit_message import single_line

_SECONDS: Final = 30
_NEWEST: Final = 30
_DEVELOPER: Final = 30
"""The least access level that may push branches and open merge requests."""
_SERVER_FAULT: Final = 500
_LONGEST: Final = 500
_LATER: Final = "run this again later, nothing was lost"
_MALFORMED: Final = (AttributeError, LookupError, TypeError, ValueError)
"""Errors when an answer is not the API's, such as the page of a proxy."""
_REFUSED: Final = (ForgeRefusedError, "change what it names and run this again")
_KINDS: Final[Mapping[int, tuple[type[ForgeError], str]]] = {
    400: _REFUSED,
    401: (ForgeAccessError, "the token in GITLAB_TOKEN is wrong or has expired, set a new one"),
    403: (ForgeAccessError, "the token needs the scope `api` and the role Developer in the project"),
    404: (ForgeMissingError, "check the remote's address, and that the token may see the project"),
    409: _REFUSED,
    422: _REFUSED,
    429: (ForgeLimitError, _LATER),
}


class _Client(Gitlab):
    """A client that does not wait by itself."""

    def http_request(self, *arguments: Any, **options: Any) -> requests.Response:  # noqa: ANN401 - as the client has it
        """Send a request once."""
        return super().http_request(*arguments, **{**options, "obey_rate_limit": False})


class GitLabForge:
    """A project on GitLab."""

    def __init__(self, account: ForgeAccount, repository: str, seconds: int = _SECONDS) -> None:
        self._name = repository
        self._gitlab = _Client(
            account.api.removesuffix("/api/v4"),
            oauth_token=account.token,  # the header that a redirect to another host loses
            timeout=seconds,
            user_agent="skillopt-mcp",
            per_page=100,
            keep_base_url=True,  # the token goes nowhere else, whatever the next page's address is
        )
        self._gitlab.session.hooks["response"].append(self._note_headers)
        self._headers: Mapping[str, str] = {}
        self._project = self._gitlab.projects.get(repository, lazy=True)
        self._own_login = ""
        self._writers: dict[int, bool] = {}

    def facts(self) -> RepositoryFacts:
        """Return what the project is, and whether the token's role may open merge requests."""
        with self._asking("read the project"):
            found = self._gitlab.projects.get(self._name).asdict()
            name, public = str(found["default_branch"]), found["visibility"] == "public"
            levels = [access["access_level"] for access in (found.get("permissions") or {}).values() if access]
        level = max(levels, default=0)
        role = f"the token's access level in {self._name} is {level}; it needs {_DEVELOPER} (Developer)"
        disabled = found.get("merge_requests_access_level") == "disabled"
        reasons = (
            (found.get("archived"), "the project is archived, so nothing can be changed in it"),
            (disabled, "merge requests are switched off in its settings"),
            (level < _DEVELOPER, role),
        )
        reason = next((words for holds, words in reasons if holds), "")
        return RepositoryFacts(name, public, self._login(), not reason, reason)

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List the newest merge requests from a branch of this project, newest first."""
        with self._asking("list the merge requests"):
            own = self._gitlab.projects.get(self._name).id
            found = self._project.mergerequests.list(
                source_branch=branch, state="all", order_by="created_at", sort="desc", get_all=True
            )
            return tuple(_read(one) for one in found[:_NEWEST] if one.source_project_id == own)

    def comments(self, number: int) -> tuple[Comment, ...]:
        """List the notes of people under a merge request, oldest first, without what `comment` wrote."""
        own = self._login()
        with self._asking("read the comments"):
            found = self._project.mergerequests.get(number)
            people = []
            for one in found.notes.list(sort="asc", order_by="created_at", get_all=True):
                author = _login_of(one.author)
                if one.system or (author == own and mark_of(one.body)[0]):
                    continue
                at = datetime.fromisoformat(one.created_at).astimezone(UTC).isoformat()
                may_write = bool(author) and self._may_write(one.author["id"])
                people.append(Comment(one.id, author, one.body, at, f"{found.web_url}#note_{one.id}", may_write))
        return tuple(people)

    def create(self, branch: str, into: str, title: str, body: str, *, draft: bool = False) -> PullRequest:
        """Open a merge request from a branch, or give the one that is open."""
        text = {"title": f"{DRAFT_TITLE}{title}" if draft else title, "description": body}
        try:
            with self._asking("open a merge request"):
                branches = {"source_branch": branch, "target_branch": into}
                return _read(self._project.mergerequests.create({**text, **branches}))
        except ForgeRefusedError:
            opened = [one for one in self.pull_requests(branch) if one.state == "open"]
            if not opened:
                raise
            return opened[0]

    def update(self, number: int, title: str, body: str, *, draft: bool | None = None) -> None:
        """Change title and text of a merge request, and make it a draft or ready by its title."""
        with self._asking("change the merge request"):
            is_draft = split_title(self._project.mergerequests.get(number).title)[0] if draft is None else draft
            self._change(number, title=f"{DRAFT_TITLE}{title}" if is_draft else title, description=body)

    def label(self, number: int, labels: Sequence[str], reviewers: Sequence[str] = ()) -> None:
        """Add labels and reviewers; where a plan allows one reviewer only, GitLab keeps the first."""
        with self._asking("label the merge request"):
            found = self._project.mergerequests.get(number).asdict()
            change: dict[str, object] = {"add_labels": ",".join(labels)} if labels else {}
            if reviewers:
                present = [one["id"] for one in found.get("reviewers") or ()]
                change["reviewer_ids"] = list(dict.fromkeys([*present, *map(self._id_of, reviewers)]))
            if change:
                self._change(number, **change)

    def comment(self, number: int, topic: str, body: str) -> None:
        """Post a note, or replace the own one about the same topic, which is found by a hidden mark."""
        text, own = marked(topic, body), self._login()
        with self._asking("comment"):
            notes = self._project.mergerequests.get(number, lazy=True).notes
            found = notes.list(sort="asc", order_by="created_at", get_all=True)
            mine = (one for one in found if not one.system and _login_of(one.author) == own)
            posted = next((one for one in mine if mark_of(one.body)[0] == topic), None)
            if posted is None:
                notes.create({"body": text})
            elif posted.body != text:
                notes.update(posted.id, {"body": text})

    def close(self, number: int) -> None:
        """Close a merge request without merging it."""
        with self._asking("close the merge request"):
            self._change(number, state_event="close")

    def review_comments(self, most: int) -> Sequence[Mapping[str, Any]]:
        """List the newest comments on lines of merge requests, with the keys of GitHub's API."""
        found = list[Mapping[str, Any]]()
        with self._asking("read the discussions"):
            newest = self._project.mergerequests.list(state="all", order_by="created_at", sort="desc", iterator=True)
            for one in newest:
                for thread in one.discussions.list(iterator=True):
                    notes = [note for note in thread.attributes["notes"] if note.get("type") == "DiffNote"]
                    found += (_row(note, one, replies_to=notes[0]["id"] if at else "") for at, note in enumerate(notes))
                if len(found) >= most:
                    break
        return found[:most]

    def pull_request(self, number: int) -> PullRequest:
        """Read a merge request."""
        with self._asking("read the merge request"):
            return _read(self._project.mergerequests.get(number))

    def file_at(self, commit: str, path: str) -> str | None:
        """Read a text file as a commit has it."""
        try:
            with self._asking("read a file"):
                return self._project.files.get(path, ref=commit).decode().decode("utf-8", "replace")
        except ForgeMissingError:
            return None

    def _change(self, number: int, **values: object) -> None:
        self._project.mergerequests.update(number, values)

    def _login(self) -> str:
        """Ask whom the token belongs to."""
        if not self._own_login:
            with self._asking("name the user of the token for merge requests"):
                self._gitlab.auth()
                assert self._gitlab.user is not None  # noqa: S101 - what `auth` is for
                self._own_login = str(self._gitlab.user.username)
        return self._own_login

    def _may_write(self, user: int) -> bool:
        """Return whether somebody may push, as a member of the project or of a group above it."""
        if user not in self._writers:
            try:
                with self._asking("read the access level of a member"):
                    self._writers[user] = self._project.members_all.get(user).access_level >= _DEVELOPER
            except ForgeMissingError:
                self._writers[user] = False
        return self._writers[user]

    def _id_of(self, name: str) -> int:
        users = self._gitlab.users.list(username=name, get_all=True)
        if not users:
            message = f"GitLab: expected a user {name!r} to review the merge request, found none"
            raise ForgeRefusedError(f"{message}; correct `reviewers` in [nightly]")
        return int(users[0].id)

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
        except requests.RequestException as error:
            reason = mask(single_line(network_words(error)))
            message = f"cannot reach GitLab to {what}: {reason}; check the network and CI_API_V4_URL"
            raise ForgeDownError(message) from error
        except _MALFORMED as error:
            message = f"GitLab: expected an answer of its API to {what}, found another; see CI_API_V4_URL"
            raise ForgeDownError(message) from error

    def _error(self, error: GitlabError, what: str) -> ForgeError:
        status = error.response_code
        if status is None:
            return ForgeDownError(f"GitLab: expected an answer of its API to {what}, found another; see CI_API_V4_URL")
        words = mask(single_line(str(error.error_message)))[:_LONGEST] or "no reason given"
        said, text = f"GitLab would not {what}: HTTP {status}: {words}", self._headers.get("Retry-After", "")
        wait = float(text) if text.isdecimal() else None
        if status >= _SERVER_FAULT:
            return ForgeDownError(f"{said}; {_LATER}", wait)
        kind, advice = _KINDS.get(status, (ForgeError, "look at docs.gitlab.com/api and status.gitlab.com"))
        return kind(f"{said}; {advice}", wait)


def _read(found: ProjectMergeRequest) -> PullRequest:
    states: dict[str, Literal["open", "merged"]] = {"opened": "open", "locked": "open", "merged": "merged"}
    draft, title = split_title(found.title)
    ended = getattr(found, "merged_at", None) or getattr(found, "closed_at", None)
    return PullRequest(
        found.iid,
        found.web_url,
        states.get(found.state, "closed"),
        found.sha or "",
        title,
        found.description or "",
        draft=draft,
        labels=tuple(found.labels),
        author=_login_of(found.author),
        base=found.target_branch,
        closed_at=datetime.fromisoformat(ended).astimezone(UTC).isoformat() if ended else "",
    )


def _login_of(user: Mapping[str, Any] | None) -> str:
    """Return a login, empty where the account is gone."""
    return str(user["username"]) if user else ""


def _row(note: Mapping[str, Any], request: ProjectMergeRequest, replies_to: object) -> Mapping[str, Any]:
    """Return a comment on a line with GitHub's keys."""
    place = note["position"]
    first = ((place.get("line_range") or {}).get("start") or {}).get("new_line")
    return {
        "id": note["id"],
        "body": note["body"],
        "user": {"login": _login_of(note["author"])},
        "html_url": f"{request.web_url}#note_{note['id']}",
        "created_at": note["created_at"],
        "in_reply_to_id": replies_to,
        "path": place.get("new_path") or "",
        "original_start_line": first,
        "original_line": place.get("new_line"),
        "original_commit_id": place["head_sha"],
        "pull_author": _login_of(request.author),
    }
