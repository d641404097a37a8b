"""GitHub and GitHub Enterprise pull requests, by PyGithub.

PyGithub's own retries are off, because ours have a deadline; its pause between writes is on, because GitHub asks for
one second.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import islice
from typing import Any, Final, Literal

import requests
from github import Auth, BadAttributeException, Github, GithubException
from github.PullRequest import PullRequest as Found

from skillopt.errors import (
    ForgeAccessError,
    ForgeDownError,
    ForgeError,
    ForgeLimitError,
    ForgeMissingError,
    ForgeRefusedError,
    network_words,
)
from skillopt.nightly.forges import DRAFT_TITLE, ForgeAccount, mark_of
from skillopt.protocols import Comment, PullRequest, RepositoryFacts
from skillopt.safety.credentials import mask
from skillopt.versions.commit_message import single_line

_NO_DRAFTS: Final = "Draft pull requests are not supported"
_SECONDS: Final = 30  # of one request: GitHub ends its own after 10
_NEWEST: Final = 30  # pull requests of one branch: what people decided earlier is in refusals
_PAGE: Final = 100  # the most that GitHub lists at once
_WRITERS: Final = ("admin", "maintain", "write")
_MALFORMED: Final = (BadAttributeException, AttributeError, LookupError, TypeError, ValueError)
"""Errors of the client when an answer is not the API's, such as the page of a proxy."""

_LIMITED: Final = re.compile(
    r"rate limit|abuse detection|retry your request again later|wait a few minutes", re.IGNORECASE
)
_WORKFLOW: Final = "not permitted to create or approve pull requests"
_LONGEST: Final = 500  # characters of what GitHub says that an error repeats
_LATER: Final = "run this again later, nothing was lost"
_TYPES: Final = {"FORBIDDEN": 403, "NOT_FOUND": 404, "RATE_LIMITED": 429, "UNPROCESSABLE": 422}
"""Types of the errors of the GraphQL API, whose answers all have the status 200."""
_KINDS: Final[Mapping[int, tuple[type[ForgeError], str]]] = {
    401: (ForgeAccessError, "the token in GH_TOKEN or GITHUB_TOKEN is wrong or has expired, set a new one"),
    404: (ForgeMissingError, "check the remote's address, and that the token may see the repository"),
    422: (ForgeRefusedError, "change what it names and run this again"),
}


class GitHubForge:
    """A repository on GitHub."""

    def __init__(self, account: ForgeAccount, repository: str, seconds: int = _SECONDS, pause: float = 1.0) -> None:
        self._name = repository
        self._github = Github(
            base_url=account.api,
            auth=Auth.Token(account.token),
            timeout=seconds,
            user_agent="skillopt-mcp",
            per_page=_PAGE,
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=pause,
            lazy=True,
        )
        self._repository = self._github.get_repo(repository)
        self._own_login = ""
        self._writers: dict[str, bool] = {}

    def facts(self) -> RepositoryFacts:
        """Return what the repository is, and whether pull requests can be opened.

        No question tells that beforehand, least of all of a workflow's token. So one is asked for that GitHub never
        opens, from a branch to itself: it is refused as such, or for the want of a permission.
        """
        with self._asking("read the repository"):
            found = self._github.get_repo(self._name)
            name, public, archived = found.default_branch, not found.private, found.archived
        reason = "the repository is archived, so nothing can be changed in it" if archived else ""
        try:
            with self._asking("open a pull request"):
                if not archived:
                    self._repository.create_pull(name, name, title="skillopt: may pull requests be opened?", body="")
        except ForgeRefusedError:
            pass
        except (ForgeAccessError, ForgeMissingError) as error:
            reason = str(error)
        return RepositoryFacts(name, public, not reason, reason)

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List the newest pull requests from a branch of this repository, newest first."""
        owner = self._name.partition("/")[0]
        with self._asking("list the pull requests"):
            found = self._repository.get_pulls("all", sort="created", direction="desc", head=f"{owner}:{branch}")
            return tuple(_read(one) for one in islice(found, _NEWEST) if one.head.ref == branch and _is_own(one))

    def comments(self, number: int) -> tuple[Comment, ...]:
        """List the comments of a pull request's conversation, oldest first, without what `comment` wrote."""
        own = self._login()
        with self._asking("read the comments"):
            found = list[Comment]()
            for one in list(self._repository.get_issue(number).get_comments()):
                author, body, at = _login_of(one.user), one.body or "", one.created_at.astimezone(UTC).isoformat()
                if not (author == own and mark_of(body)[0]):
                    may_write = bool(author) and self._may_write(author)
                    found.append(Comment(one.id, author, body, at, url=one.html_url, may_write=may_write))
            return tuple(found)

    def create(self, branch: str, into: str, title: str, body: str, *, draft: bool = False) -> PullRequest:
        """Open a pull request from a branch, or give the one that is open.

        Private repositories of some plans have no drafts; there the title says that it is one.
        """
        try:
            with self._asking("open a pull request"):
                return _read(self._repository.create_pull(into, branch, title=title, body=body, draft=draft))
        except ForgeRefusedError as error:
            if draft and _NO_DRAFTS in str(error):
                return self.create(branch, into, f"{DRAFT_TITLE}{title}", body)
            opened = [one for one in self.pull_requests(branch) if one.state == "open"]
            if not opened:
                raise
            return opened[0]

    def update(self, number: int, title: str, body: str, *, draft: bool | None = None) -> None:
        """Return a pull request this title and text, and make it a draft or ready for review."""
        with self._asking("read the pull request"):
            found = self._github.get_repo(self._name).get_pull(number)
            was_draft, is_marked = found.draft, found.title.startswith(DRAFT_TITLE)
        wanted = (was_draft or is_marked) if draft is None else draft
        titled_draft = wanted and is_marked
        if wanted != was_draft and not titled_draft:
            titled_draft = not self._convert(found, draft=wanted)
        with self._asking("change the pull request"):
            found.edit(title=f"{DRAFT_TITLE}{title}" if titled_draft else title, body=body)

    def comment(self, number: int, topic: str, body: str) -> None:
        """Post a comment, or replace the own one about the same topic, which is found by a hidden mark."""
        text, own = f"<!-- skillopt: {topic} -->\n{body}", self._login()
        with self._asking("comment"):
            issue = self._repository.get_issue(number)
            found = (one for one in issue.get_comments() if _login_of(one.user) == own)
            posted = next((one for one in found if mark_of(one.body)[0] == topic), None)
            if posted is None:
                issue.create_comment(text)
            elif posted.body != text:
                posted.edit(text)

    def close(self, number: int) -> None:
        """Close a pull request without merging it."""
        with self._asking("close the pull request"):
            self._repository.get_pull(number).edit(state="closed")

    def _login(self) -> str:
        """Ask whom the token belongs to, in the one way that is open to tokens of apps and workflows, too."""
        if not self._own_login:
            with self._asking("name the user of the token for pull requests"):
                _, answer = self._github.requester.graphql_query("query { viewer { login } }", {})
                self._own_login = str(answer["data"]["viewer"]["login"])
        return self._own_login

    def _convert(self, found: Found, *, draft: bool) -> bool:
        """Make a pull request a draft or ready for review; False where the repository has no drafts."""
        try:
            with self._asking(f"make a pull request {'a draft' if draft else 'ready for review'}"):
                found.convert_to_draft() if draft else found.mark_ready_for_review()
        except ForgeError as error:
            if not draft or _NO_DRAFTS not in str(error):
                raise
            return False
        return True

    def _may_write(self, author: str) -> bool:
        """Return whether somebody may push; how GitHub associates authors does not say that."""
        if author not in self._writers:
            try:
                with self._asking(f"read the permission of {author!r} for pull requests"):
                    permission = self._repository.get_collaborator_permission(author)
            except ForgeMissingError:
                permission = "none"
            self._writers[author] = permission in _WRITERS
        return self._writers[author]

    @contextmanager
    def _asking(self, doing: str) -> Iterator[None]:
        """Translate the client's exceptions."""
        try:
            yield
        except GithubException as error:
            headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
            status = _status(error.status, error.data)
            raise _github_error(status, _words(error.data), headers, f"{doing} of {self._name}") from error
        except requests.RequestException as error:
            reason = mask(single_line(network_words(error)))
            message = f"cannot reach GitHub to {doing} of {self._name}: {reason}; check the network and GITHUB_API_URL"
            raise ForgeDownError(message) from error
        except _MALFORMED as error:
            message = (
                f"GitHub: expected an answer of its API to {doing} of {self._name}, found another; check GITHUB_API_URL"
            )
            raise ForgeDownError(message) from error


def _is_own(found: Found) -> bool:
    """Return whether a pull request comes from the repository itself: forks may belong to the same organisation."""
    own, head = found.base.raw_data.get("repo"), found.head.raw_data.get("repo")  # null where a fork was deleted
    return own is not None and head is not None and own["full_name"] == head["full_name"]


def _read(found: Found) -> PullRequest:
    state: Literal["open", "closed", "merged"]
    state = "merged" if found.merged_at else "closed" if found.state == "closed" else "open"
    return PullRequest(
        found.number,
        found.html_url,
        state,
        found.head.sha,
        title=found.title.removeprefix(DRAFT_TITLE),
        body=found.body or "",
        draft=bool(found.draft) or found.title.startswith(DRAFT_TITLE),
        closed_at=found.closed_at.astimezone(UTC).isoformat() if found.closed_at else "",
    )


def _login_of(user: object) -> str:
    """Return a login, empty where the account is gone."""
    return str(getattr(user, "login", None) or "")


def _github_error(status: int, words: str, headers: Mapping[str, str], doing: str) -> ForgeError:
    """Make the error of a failed request."""
    said = f"GitHub would not {doing}: HTTP {status}: {mask(single_line(words))[:_LONGEST] or 'no reason given'}"
    wait = github_retry_after(headers)
    limited = status == HTTPStatus.FORBIDDEN and (wait is not None or _LIMITED.search(words))
    if limited or status == HTTPStatus.TOO_MANY_REQUESTS:
        return ForgeLimitError(f"{said}; {_LATER}", wait)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ForgeDownError(f"{said}; {_LATER}", wait)
    if status == HTTPStatus.FORBIDDEN:
        return ForgeAccessError(f"{said}; {_permission(words, headers)}")
    kind, advice = _KINDS.get(status, (ForgeError, "look at docs.github.com/rest and githubstatus.com"))
    return kind(f"{said}; {advice}")


def _status(status: int, data: object) -> int:
    """Return the HTTP status that a failure would have, whichever of the two APIs it is from."""
    errors = data.get("errors") if isinstance(data, dict) else None
    types = (str(one.get("type")) for one in errors if isinstance(one, dict)) if isinstance(errors, list) else ()
    return next((_TYPES[one] for one in types if one in _TYPES), status)


def _words(data: object) -> str:
    """Read the message in the body of a failed response, and the errors of its fields."""
    if not isinstance(data, dict):
        return str(data or "")
    body: dict[str, Any] = data
    errors = body.get("errors")
    details = [
        str(one.get("message") or " ".join(str(one[key]) for key in ("field", "code") if key in one))
        if isinstance(one, dict)
        else str(one)
        for one in (errors if isinstance(errors, list) else ())
    ]
    return "; ".join(filter(None, (str(body.get("message") or ""), *details)))


def github_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Read after how many seconds GitHub asks to retry; None when it does not say.

    >>> github_retry_after({"retry-after": "7"})
    7.0
    >>> github_retry_after({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "90"}, datetime.fromtimestamp(60, UTC))
    30.0
    """
    now, text = now or datetime.now(UTC), headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return max(0.0, float(reset) - now.timestamp())
    return None


def _permission(words: str, headers: Mapping[str, str]) -> str:
    """Name the missing permission, as far as GitHub does."""
    if _WORKFLOW in words:
        return (
            "switch on `Allow GitHub Actions to create and approve pull requests` in the repository's settings under "
            "Actions, General, or set GITHUB_TOKEN to a token of an app"
        )
    if "x-github-sso" in headers:
        return "let the organization's single sign-on authorize the token"
    wanted = headers.get("x-accepted-github-permissions") or headers.get("x-accepted-oauth-scopes")
    named = f"`{mask(single_line(wanted))}`" if wanted else "`pull_requests=write` and `contents=write`"
    return f"the token lacks a permission: it needs {named}; in a workflow, grant it under `permissions:`"
