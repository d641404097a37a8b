"""The gate's part of the GitHub Action: its outputs, its one comment, and its check, which can be neutral."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from skillopt.errors import SkilloptError
from skillopt.execution.retry import Retry, retrying_forge
from skillopt.nightly.forges import find_account, load_forge
from skillopt.reports.escape_markdown import inline_code
from skillopt.settings import NightlySettings, Settings

__all__ = ["comment_on_change", "count_neutral", "gate_outputs", "reason_of", "report_check"]

_VERDICTS: Final = {0: "passed", 1: "refused", 3: "invalid"}
_NEUTRAL: Final = ("cannot tell", "untestable")
_CONCLUSIONS: Final = {"passed": "success", "neutral": "neutral", "none": "skipped"}
_ERRORS: Final = ("skillopt: ", "Error: ")
"""How the line begins that says why a command ended: ours, and the one of the parser of options."""


def gate_outputs(code: int, result: Mapping[str, Any]) -> dict[str, str]:
    """Return what the outputs of the step say of a gate."""
    changes = result.get("changes", [])
    verdict = _VERDICTS.get(code, "error")
    if verdict == "passed" and any(change["standing"] in _NEUTRAL for change in changes):
        verdict = "neutral"
    spent = [usage["usd"] for change in changes for usage in (change["spent"] or {}).values()]
    return {
        "verdict": "none" if verdict == "passed" and not changes else verdict,
        "refused": str(sum(change["standing"] == "refused" for change in changes)),
        "needs-person": str(sum(any(one["person"] for one in change["findings"]) for change in changes)),
        "rollouts": str(sum(change["paid_rollouts"] for change in changes)),
        "usd": "" if None in spent else f"{sum(spent):.4f}",
    }


def count_neutral(result: Mapping[str, Any]) -> str:
    """Return how many skills neither passed nor were refused, as in `2 cannot tell, 1 untestable`."""
    standings = [change["standing"] for change in result.get("changes", [])]
    counts = {standing: standings.count(standing) for standing in _NEUTRAL}
    return ", ".join(f"{count} {standing}" for standing, count in counts.items() if count)


def reason_of(said: str) -> str:
    """Find the line that says why a command ended, without what it begins with; empty when there is none."""
    lines = [line.strip() for line in reversed(said.splitlines())]
    found = next((line for line in lines if line.startswith(_ERRORS)), "")
    return next((found.removeprefix(begin) for begin in _ERRORS if found.startswith(begin)), "")


def comment_on_change(event: Mapping[str, Any], text: str, folder: str) -> None:
    """Keep the one comment of a gate in a working directory up to date."""
    forge = retrying_forge(load_forge(_settings(), "", Path()), Retry(Settings().retry_seconds))
    forge.comment(int(event["pull_request"]["number"]), _topic(folder), f"{_place(folder)}{text}")


def report_check(event: Mapping[str, Any], verdict: str, text: str, folder: str) -> None:
    """Report the verdict as a check of the change's last commit."""
    from skillopt.nightly.github import CheckRun, GitHubForge

    account = find_account(_settings())
    head = ((event.get("pull_request") or {}).get("head") or {}).get("sha")
    commit, repository = str(head or os.environ.get("GITHUB_SHA", "")), os.environ.get("GITHUB_REPOSITORY", "")
    if account is None or not commit or not repository:
        missing = "a token" if account is None else "GITHUB_REPOSITORY and the commit of the change"
        raise SkilloptError(f"expected {missing}, found none; set the input github-token in a workflow of GitHub")
    place = _plain(folder)
    run = CheckRun(
        commit,
        "Skill gate verdict" + (f" ({place})" if place else ""),
        _CONCLUSIONS.get(verdict, "failure"),  # type: ignore[arg-type]  # mypy widens the literals of a dict
        text.partition("\n")[0].lstrip("# ") or f"Skill gate: {verdict}",
        text,
    )
    Retry(Settings().retry_seconds).call(lambda: GitHubForge(account, repository).post_check_run(run))


def _settings() -> NightlySettings:
    """Return where the token is sent. Not the project's settings: they are part of the change."""
    return NightlySettings(forge="github")


def _plain(folder: str) -> str:
    """Return a working directory as a plain path, empty for the workspace itself."""
    path = PurePosixPath(folder or ".").as_posix()
    return "" if path == "." else path


def _topic(folder: str) -> str:
    return f"gate {quote(place)}" if (place := _plain(folder)) else "gate"


def _place(folder: str) -> str:
    return f"In {inline_code(place)}:\n\n" if (place := _plain(folder)) else ""
