"""Check runs on GitHub, which have a conclusion of their own: a job succeeds or fails, a check can be neutral."""

from dataclasses import dataclass
from typing import Final, Literal

import requests
from github import Auth, Github, GithubException

from skillopt.errors import ForgeDownError
from skillopt.nightly.forges import ForgeAccount
from skillopt.nightly.github_failures import error_words, github_error

__all__ = ["CheckRun", "Conclusion", "post_check_run"]

Conclusion = Literal["success", "neutral", "failure", "skipped"]

_SECONDS: Final = 30
_LONGEST: Final = 65_535


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A finished check of a commit."""

    commit: str
    name: str
    conclusion: Conclusion
    title: str
    summary: str


def post_check_run(account: ForgeAccount, repository: str, run: CheckRun) -> None:
    """Report a finished check of a commit; the token needs the permission `checks: write`."""
    github = Github(
        base_url=account.api,
        auth=Auth.Token(account.token),
        timeout=_SECONDS,
        user_agent="skillopt-mcp",
        retry=None,
        seconds_between_requests=None,
        lazy=True,
    )
    try:
        github.get_repo(repository).create_check_run(
            run.name,
            run.commit,
            status="completed",
            conclusion=run.conclusion,
            output={"title": run.title, "summary": run.summary[:_LONGEST]},
        )
    except GithubException as error:
        headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
        doing = f"report a check of {repository}"
        raise github_error(error.status, error_words(error.data), headers, doing) from error
    except requests.RequestException as error:
        message = f"cannot reach GitHub to report a check of {repository}; run this again later"
        raise ForgeDownError(message) from error
