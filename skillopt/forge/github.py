"""GitHub and GitHub Enterprise pull requests, by PyGithub.

PyGithub's own retries are off, because ours have a deadline; its pause between writes is on, because GitHub asks for
one second.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Final

import requests
from github import Auth, BadAttributeException, Github, GithubException
from github.PullRequest import PullRequest as Found

from skillopt.errors import ForgeDownError, ForgeRefusedError
from skillopt.forge import ForgeAccount
from skillopt.forge.github_failures import error_words, github_error
from skillopt.protocols import PullRequest
from skillopt.safety.credentials import mask
from skillopt.versions.commit_message import single_line

__all__ = ["GitHubForge"]

_NO_DRAFTS: Final = "Draft pull requests are not supported"
_SECONDS: Final = 30
_NEWEST: Final = 30
_MALFORMED: Final = (BadAttributeException, AttributeError, LookupError, TypeError, ValueError)
"""Errors of the client when an answer is not the API's, such as the page of a proxy."""


class GitHubForge:
    """A repository on GitHub.

    Args:
        account: Where the API is, and the token.
        repository: `owner/name`.
        seconds: How long an answer may take.
        pause: Seconds between two writes.
    """

    def __init__(self, account: ForgeAccount, repository: str, seconds: int = _SECONDS, pause: float = 1.0) -> None:
        self._name = repository
        self._github = Github(
            base_url=account.api,
            auth=Auth.Token(account.token),
            timeout=seconds,
            user_agent="skillopt-mcp",
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=pause,
            lazy=True,
        )
        self._repository = self._github.get_repo(repository)

    def default_branch(self) -> str:
        """Name the branch that pull requests go to."""
        with self._asking("read the repository"):
            return self._github.get_repo(self._name).default_branch

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """List the newest pull requests from a branch of this repository, newest first."""
        owner = self._name.partition("/")[0]
        with self._asking("list the pull requests"):
            found = self._repository.get_pulls("all", sort="created", direction="desc", head=f"{owner}:{branch}")
            return tuple(_read(one) for one in islice(found, _NEWEST) if one.head.ref == branch)

    def create(self, branch: str, into: str, title: str, body: str, *, draft: bool = False) -> PullRequest:
        """Open a pull request from a branch, or give the one that is open.

        Private repositories of some plans have no drafts; there the title says that it is one.
        """
        try:
            with self._asking("open a pull request"):
                return _read(self._repository.create_pull(into, branch, title=title, body=body, draft=draft))
        except ForgeRefusedError as error:
            if draft and _NO_DRAFTS in str(error):
                return self.create(branch, into, f"Draft: {title}", body)
            opened = [one for one in self.pull_requests(branch) if one.state == "open"]
            if not opened:
                raise
            return opened[0]

    def update(self, number: int, title: str, body: str) -> None:
        """Give a pull request this title and text."""
        with self._asking("change the pull request"):
            self._repository.get_pull(number).edit(title=title, body=body)

    def comment(self, number: int, topic: str, body: str) -> None:
        """Post a comment, or replace the one about the same topic, which is found by a hidden mark."""
        mark = f"<!-- skillopt: {topic} -->"
        text = f"{mark}\n{body}"
        with self._asking("comment"):
            issue = self._repository.get_issue(number)
            posted = next((one for one in issue.get_comments() if (one.body or "").startswith(mark)), None)
            if posted is None:
                issue.create_comment(text)
            elif posted.body != text:
                posted.edit(text)

    def close(self, number: int) -> None:
        """Close a pull request without merging it."""
        with self._asking("close the pull request"):
            self._repository.get_pull(number).edit(state="closed")

    @contextmanager
    def _asking(self, doing: str) -> Iterator[None]:
        """Translate the client's exceptions."""
        try:
            yield
        except GithubException as error:
            headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
            raise github_error(error.status, error_words(error.data), headers, f"{doing} of {self._name}") from error
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
    state = "merged" if found.merged_at else "closed" if found.state == "closed" else "open"
    return PullRequest(
        found.number, found.html_url, state, found.head.sha, found.title, found.body or "", bool(found.draft)
    )  # type: ignore[arg-type]  # mypy widens the literals
