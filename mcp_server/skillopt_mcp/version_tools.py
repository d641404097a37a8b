"""MCP tools for skills and their versions: list, read, compare, roll back.

Each is a function of the project's folder and the model's arguments, answered in Markdown.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from skillopt.commands.history.diff import diff
from skillopt.commands.history.log import log
from skillopt.commands.history.rollback import rollback
from skillopt.errors import UsageError
from skillopt.gate.headline import read_headline
from skillopt.skills.folder import SKILL_FILE
from skillopt_mcp.addresses import skill_address
from skillopt_mcp.catalogue import Overview, SkillRow, overview, selection_of, served_skill, waiting_draft
from skillopt_mcp.pages import paginate, table

__all__ = ["Page", "SkillName", "list_skills_tool", "read_skill_tool", "rollback_skill_tool"]

_SHORT = 10  # characters of a commit that are shown
_LISTED = 20  # files that are listed
_START = "start"  # too short to be the start of a version
_DRAFT = "draft"
_NOT_ACCEPTED = "This is a draft: it is not accepted and not served. Do not work by it."
_TAKE = "Only a person makes it a version, with `skillopt take {name}`; there is no tool for that."
_BEGIN = {
    "repository": "There is no git repository around this folder, and skills are versioned in git. Run `git init`, "
    "commit the skill, then call list_skills again.",
    "skills": "There is no skill here yet. A skill is a folder such as `skills/my-skill/` with a `SKILL.md`. Write "
    "one and commit it, then call list_skills again.",
    "suites": "No skill has a suite of tasks, and without tasks nothing can be measured. The prompt `write-evals` "
    "says how to write `evals/evals.json` in the skill's folder.",
    "versions": "No version was accepted yet, so nothing is served. Train a skill: the prompt `optimize-skill` says "
    "how.",
}

SkillName = Annotated[str, Field(description="The skill's name, as list_skills shows it.", max_length=64)]
_VersionName = Annotated[str, Field(description="A version that list_skills lists, or its start.", max_length=64)]
_VersionOrDraft = Annotated[
    str, Field(description="A version that list_skills lists, or its start; `draft` for what waits.", max_length=64)
]
Page = Annotated[int, Field(description="Which page of the answer.", ge=1)]


def list_skills_tool(
    folder: Path,
    name: Annotated[
        str | None, Field(description="List the versions of this skill instead, with scores.", max_length=64)
    ] = None,
    page: Page = 1,
) -> str:
    """List the skills of the project, or the versions of one; say how to begin where something is missing."""
    if name is not None:
        return _versions(folder, name, page)
    found = overview(folder)
    rows = [_row(row) for row in found.skills]
    head = ("skill", "versions", "newest", "on val", "suite", "folder")
    listed = [table(head, rows)] if rows else []
    problems = [f"`{row.name}` is not served: {row.problem}" for row in found.skills if row.problem]
    return paginate("\n\n".join(["# Skills", *listed, *problems, *_guidance(found)]), page)


def read_skill_tool(
    folder: Path,
    name: SkillName,
    version: _VersionOrDraft | None = None,
    file: Annotated[str, Field(description="A file of the skill.", max_length=1024)] = SKILL_FILE,
    since: Annotated[
        str | None,
        Field(
            description="Show instead what changed since this version, or since `start`, the text that training "
            "began with, or that the draft is compared with.",
            max_length=64,
        ),
    ] = None,
    page: Page = 1,
) -> str:
    """Show a file of an accepted version or of the draft, or what changed since an older one."""
    if since is not None:
        return _changes(folder, name, since, version, page)
    is_draft = version == _DRAFT
    skill = waiting_draft(folder, name) if is_draft else served_skill(folder, name, version)
    shown = skill.file(file)
    paths = [found.path for found in skill.files]
    if shown is None:
        listed = ", ".join(paths[:_LISTED]) + (", …" if len(paths) > _LISTED else "")
        message = f"expected a file of {name} {skill.version[:_SHORT]}, found {file[:80]!r}; its files: {listed}"
        raise UsageError(message)
    uri = "" if is_draft else f", {skill_address(name, file, skill.version if version else None)}"
    what = _NOT_ACCEPTED + "\n\nDraft" if is_draft else "Version"
    head = f"# {name}: {file}\n\n{what} {skill.version[:_SHORT]} of {skill.at}{uri}"
    others = [path for path in paths if path != file][:_LISTED]
    more = f"\n\nOther files: {', '.join(others)}" if others else ""
    try:
        text = shown.content.decode("utf-8")
    except UnicodeDecodeError:
        return f"{head}\n\n{len(shown.content)} bytes that are not text; read the resource instead.{more}"
    return f"{head}\n\n{paginate(text, page, fence='markdown' if file.endswith('.md') else '')}{more}"


def rollback_skill_tool(folder: Path, name: SkillName, version: _VersionName) -> str:
    """Publish an older version of a skill as a new commit on its branch."""
    wanted = served_skill(folder, name, version).version
    done = rollback(selection_of(folder, name), wanted)
    newest = f"Commit {done.commit[:_SHORT]} on `{done.branch}` holds the text of {done.version[:_SHORT]} again."
    return f"{newest} Nothing was deleted; to undo this, roll back to the version before it."


def _versions(folder: Path, name: str, page: int) -> str:
    logged = log(selection_of(folder, name))
    head = ("version", "at", "grade", "on val", "wins/ties/losses", "confidence", "what changed")
    rows = []
    for version in logged.versions:
        said = dict(version.trailers)
        by = ["taken by a person"] * (version.kind == "taken") + ["declined by people"] * (version.declined is not None)
        grade = ", ".join(filter(None, (version.shown, *by)))
        numbers = (grade, _score(said), said.get("Wins-Ties-Losses", ""), said.get("Confidence", ""))
        rows.append((version.sha[:_SHORT], version.at, *numbers, version.subject))
    body = table(head, rows) if rows else _BEGIN["versions"]
    parts = [f"# Versions of {name}", f"Branch `{logged.branch}`, newest first.", body]
    if logged.draft is not None:
        waits = f"Draft {logged.draft.version.sha[:_SHORT]} waits: {logged.draft.words}."
        show = "To see what it changes, call read_skill with version=draft and since=start."
        parts.append(f"{waits} {show} {_TAKE.format(name=name)}")
    return paginate("\n\n".join(parts), page)


def _changes(folder: Path, name: str, since: str, version: str | None, page: int) -> str:
    selection = selection_of(folder, name)
    older = None if since == _START else served_skill(folder, name, since).version
    if version == _DRAFT:
        changed = diff(selection, older, _DRAFT) if older else diff(selection, _DRAFT, None)
    else:
        changed = diff(selection, older, served_skill(folder, name, version).version)
    title = f"# {name}: {changed.before[:_SHORT]} to {changed.after[:_SHORT]}"
    if version == _DRAFT:
        title += f"\n\n{_NOT_ACCEPTED} {_TAKE.format(name=name)}"
    return f"{title}\n\n{paginate(changed.text or 'The two are equal.', page, fence='diff')}"


def _row(row: SkillRow) -> tuple[str, ...]:
    newest, declined = row.newest, len(row.declined)
    score = _score(dict(newest.trailers)) if newest else ""
    count = f"{len(row.versions)}{f', {declined} declined' if declined else ''}"
    return (row.name, count, newest.sha[:_SHORT] if newest else "none", score, row.suite, row.path)


def _score(trailers: dict[str, str]) -> str:
    if "Rollback-To" in trailers:
        return f"as {trailers['Rollback-To'][:_SHORT]}"
    return read_headline(trailers)


def _guidance(found: Overview) -> list[str]:
    """List what is missing before a first run, most basic first."""
    missing = []
    if not found.repository:
        missing.append(_BEGIN["repository"])
    if not found.skills:
        missing.append(_BEGIN["skills"])
    elif not any(row.suite for row in found.skills):
        missing.append(_BEGIN["suites"])
    elif not any(row.versions for row in found.skills):
        missing.append(_BEGIN["versions"])
    return missing
