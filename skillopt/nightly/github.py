"""GitHub and GitHub Enterprise pull requests and issues, by PyGithub.

PyGithub's own retries are off, because ours have a deadline; its pause between writes is on, because GitHub asks for
one second.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from itertools import islice
from typing import Final, Literal

import requests
from github import Auth, BadAttributeException, Github, GithubException
from github.Issue import Issue as FoundIssue
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest as Found

from skillopt.errors import ForgeAccessError, ForgeDownError, ForgeError, ForgeMissingError, ForgeRefusedError
from skillopt.nightly.forge_marks import DRAFT_TITLE, mark_of, marked, split_title
from skillopt.nightly.forges import ForgeAccount
from skillopt.nightly.github_failures import error_status, error_words, github_error
from skillopt.protocols import Comment, Issue, PullRequest, RepositoryFacts
from skillopt.safety.credentials import mask
from skillopt.versions.commit_message import single_line

__all__ = ["GitHubForge"]

_NO_DRAFTS: Final = "Draft pull requests are not supported"
_SECONDS: Final = 30
_NEWEST: Final = 30
_PAGE: Final = 100
_WRITERS: Final = ("admin", "maintain", "write")
_MALFORMED: Final = (BadAttributeException, AttributeError, LookupError, TypeError, ValueError)
"""Errors of the client when an answer is not the API's, such as the page of a proxy."""


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
        return RepositoryFacts(name, public, self._login(), not reason, reason)

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List the newest pull requests from a branch of this repository, newest first."""
        owner = self._name.partition("/")[0]
        with self._asking("list the pull requests"):
            found = self._repository.get_pulls("all", sort="created", direction="desc", head=f"{owner}:{branch}")
            return tuple(_read(one) for one in islice(found, _NEWEST) if one.head.ref == branch)

    def comments(self, number: int) -> tuple[Comment, ...]:
        """List the comments of a pull request's conversation, oldest first, without what `comment` wrote."""
        own = self._login()
        with self._asking("read the comments"):
            found = list(self._repository.get_issue(number).get_comments())
            people = (one for one in found if not (_login_of(one.user) == own and mark_of(one.body)[0]))
            return tuple(self._read_comment(one) for one in people)

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
            was_draft, is_marked = found.draft, split_title(found.title)[0]
        wanted = (was_draft or is_marked) if draft is None else draft
        titled_draft = wanted and is_marked
        if wanted != was_draft and not titled_draft:
            titled_draft = not self._convert(found, draft=wanted)
        with self._asking("change the pull request"):
            found.edit(title=f"{DRAFT_TITLE}{title}" if titled_draft else title, body=body)

    def label(
        self, number: int, labels: Sequence[str], reviewers: Sequence[str] = (), assignees: Sequence[str] = ()
    ) -> None:
        """Add labels, reviewers and assignees; a label that the repository does not have is made."""
        teams = [name.rpartition("/")[2] for name in reviewers if "/" in name]
        people = [name for name in reviewers if "/" not in name]
        with self._asking("label the pull request"):
            issue = self._repository.get_issue(number)
            if labels:
                issue.add_to_labels(*labels)
            if assignees:
                issue.add_to_assignees(*assignees)
        if reviewers:
            with self._asking("ask for a review of the pull request"):
                self._repository.get_pull(number).create_review_request(reviewers=people, team_reviewers=teams)

    def comment(self, number: int, topic: str, body: str) -> None:
        """Post a comment, or replace the own one about the same topic, which is found by a hidden mark."""
        text, own = marked(topic, body), self._login()
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

    def find_issue(self, topic: str) -> Issue | None:
        """Find the oldest issue about a topic that the own login wrote, open or closed."""
        found = self._issue(topic)
        return Issue(found.html_url, found.title, mark_of(found.body)[1]) if found else None

    def issue(self, topic: str, title: str, body: str) -> str:
        """Write the one issue about a topic; one that people have closed stays closed."""
        found, text = self._issue(topic), marked(topic, body)
        with self._asking("write an issue"):
            if found is None:
                return self._repository.create_issue(title, body=text).html_url
            if (found.title, found.body) != (title, text):
                found.edit(title=title, body=text)
            return found.html_url

    def _issue(self, topic: str) -> FoundIssue | None:
        own = self._login()
        with self._asking("list the issues"):
            found = self._repository.get_issues(state="all", sort="created", direction="asc", creator=own)  # type: ignore[arg-type]  # a login is taken, and saves asking for the user
            # Pull requests are issues, too. Their addresses tell; any other sign would be asked for one by one.
            mine = (one for one in found if "/pull/" not in one.html_url and _login_of(one.user) == own)
            return next((one for one in mine if mark_of(one.body)[0] == topic), None)

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

    def _read_comment(self, one: IssueComment) -> Comment:
        author = _login_of(one.user)
        at = one.created_at.astimezone(UTC).isoformat()
        return Comment(one.id, author, one.body or "", at, one.html_url, bool(author) and self._may_write(author))

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
            status = error_status(error.status, error.data)
            raise github_error(status, error_words(error.data), headers, f"{doing} of {self._name}") from error
        except requests.Timeout as error:
            message = f"GitHub did not answer in time when asked to {doing} of {self._name}; run this again later"
            raise ForgeDownError(message) from error
        except requests.RequestException as error:
            reason = mask(single_line(str(error)))
            message = f"cannot reach GitHub to {doing} of {self._name}: {reason}; check the network and forge_url"
            raise ForgeDownError(message) from error
        except _MALFORMED as error:
            message = (
                f"GitHub: expected an answer of its API to {doing} of {self._name}, found another; check forge_url"
            )
            raise ForgeDownError(message) from error


def _read(found: Found) -> PullRequest:
    state: Literal["open", "closed", "merged"]
    state = "merged" if found.merged_at else "closed" if found.state == "closed" else "open"
    marked, title = split_title(found.title)
    return PullRequest(
        found.number,
        found.html_url,
        state,
        found.head.sha,
        title,
        found.body or "",
        draft=bool(found.draft) or marked,
        labels=tuple(label.name for label in found.labels),
        author=_login_of(found.user),
        base=found.base.ref,
        closed_at=found.closed_at.astimezone(UTC).isoformat() if found.closed_at else "",
    )


def _login_of(user: object) -> str:
    """Return a login, empty where the account is gone."""
    return str(getattr(user, "login", None) or "")


def _marked(topic: str, body: str) -> str:
    return f"<!-- skillopt: {topic} -->\n{body}"
