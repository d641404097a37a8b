"""`skillopt init --ci github`: one workflow that gates changes of skills, makes records, and trains at night."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from typing import Final, Literal

from skillopt import __version__
from skillopt.errors import UsageError
from skillopt.project import Project
from skillopt.safety.escaping import escape_terminal
from skillopt.suites.config_lines import put_file

Start = Literal["path", "label", "always"]
"""When a pull request is gated without being asked: where it changes skills, by the label `skillopt`, or always."""

_PLACE: Final = ".github/workflows/skillopt.yml"
_ACTION: Final = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}")
_REMOTE: Final = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")
_SECRETS: Final = {
    "anthropic": "ANTHROPIC_API_KEY",
    "claude-code": "ANTHROPIC_API_KEY",
    "codex": "OPENAI_API_KEY",
    "openai": "OPENAI_API_KEY",
}
_STARTED: Final = {
    "path": (" at once", "    paths: {paths}\n  merge_group:", ""),
    "label": (
        " when it gets the label `skillopt`",
        "    types: [labeled]",
        " && github.event.label.name == 'skillopt'",
    ),
    "always": (", as every pull request is", "  merge_group:", ""),
}


@dataclass(frozen=True, slots=True)
class WrittenWorkflow:
    """What was written, and the secrets that it needs."""

    path: str
    secrets: tuple[str, ...]

    def __str__(self) -> str:
        """Say what was written and what is left to do."""
        secrets = [f"gh secret set {name}" for name in self.secrets] or ["no secret: the target needs no key"]
        path = escape_terminal(self.path)
        return (
            f"wrote {path}: gate in pull requests, records on push, a night at 03:17 UTC\n"
            f"next: {'; '.join(secrets)}; commit {path}"
        )


def write_ci(project: Project, start: Start, action: str) -> WrittenWorkflow:
    """Write the workflow of a project; one that is there is never overwritten."""
    root = project.repository().root
    path = root / _PLACE
    if path.exists():
        raise UsageError(f"expected no {_PLACE} yet, found one; move it away, then run this again")
    settings = project.settings()
    drivers = [part for name in (settings.harness, settings.model, settings.judge) for part in name.split("/")[:2]]
    secrets = tuple(dict.fromkeys(_SECRETS[name] for name in drivers if name in _SECRETS))
    agents = dict.fromkeys(name for name in drivers if name in ("claude-code", "codex"))
    source = f"{action.partition('@')[0]}/.github/actions/skillopt@{action.partition('@')[2]} # v{__version__}"
    words = {"SECRETS": " and ".join(secrets) or "of no provider", "AGENTS": json.dumps(" ".join(agents))}
    # What a change of skills touches.
    places = [place for skill in project.discover().skills for place in (skill.path, skill.suite) if place]
    tops = sorted({place.partition("/")[0] for place in places} - {".", ""})
    paths = ["**/SKILL.md", *(f"{top}/**" for top in tops), project.config.name, _PLACE]
    put_file(path, workflow_text(start, paths, {"ACTION": source, "FORGE": "github", **words}))
    return WrittenWorkflow(_PLACE, secrets)


def workflow_text(start: Start, paths: list[str], words: Mapping[str, str]) -> str:
    """Fill in the workflow."""
    told, pull_request, label = _STARTED[start]
    listed = f"[{', '.join(json.dumps(path) for path in paths)}]"
    block = f"  pull_request:\n{pull_request.format(paths=listed)}"
    text = files("skillopt.commands").joinpath("github.yml").read_text(encoding="utf-8")
    for name, word in {**words, "START": told, "PULL_REQUEST": block, "LABEL": label, "PATHS": listed}.items():
        text = text.replace(f"@{name}@", word)
    return text


def find_action(named: str) -> str:
    """Return the action to call, as OWNER/REPO@HASH: the one that is named, else of the commit installed here."""
    found = named
    if not found:
        with suppress(PackageNotFoundError):  # pip writes down where it got this program from
            source = json.loads(distribution("skillopt-mcp").read_text("direct_url.json") or "{}")
            remote = _REMOTE.fullmatch(str(source.get("url", "")))
            commit = source.get("vcs_info", {}).get("commit_id", "")
            found = f"{remote[1]}@{commit}" if remote and commit else ""
    if not _ACTION.fullmatch(found):
        raise UsageError(
            "--action: expected OWNER/REPO@HASH, the repository of this program and the full hash of a commit that you "
            f"have read, found {found or 'none, as it was not installed from github.com'!r}"
        )
    return found
