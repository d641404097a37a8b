"""MCP tools for skills and their versions: list, read, compare, roll back.

Each is a function of the project's folder and the model's arguments, answered in Markdown.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from skillopt import __version__
from skillopt.errors import RepositoryError, UsageError
from skillopt.project import FoundSkill, Project
from skillopt.runs.history import compare_versions, roll_back
from skillopt.skills.folder import SKILL_FILE
from skillopt.versions.commit_message import Version
from skillopt.versions.decisions import Decisions
from skillopt_mcp.catalogue import (
    Catalogue,
    ServedSkill,
    accepted_version,
    catalogue_of,
    served_skill,
    skill_address,
    waiting_draft,
)
from skillopt_mcp.pages import paginate, table
from skillopt_mcp.skill_details import SHOWN_DIGITS, TAKE, describe_skill, score_words, selection_of

__all__ = [
    "Overview",
    "Page",
    "SkillName",
    "SkillRow",
    "list_skills_tool",
    "overview",
    "read_skill_tool",
    "rollback_skill_tool",
]

_SECONDS: Final = 2.0
"""After which the work tree is looked at again; commits and skillopt.toml are in the next answer."""


@dataclass(frozen=True, slots=True)
class SkillRow:
    """A skill of a project."""

    name: str
    path: str
    suite: str
    versions: tuple[Version, ...] = ()
    served: Version | None = None
    committed: str = ""

    @property
    def declined(self) -> int:
        """How many of its versions people declined."""
        return len(Decisions(self.versions).declined)


@dataclass(frozen=True, slots=True)
class Overview:
    """One page of the skills of a project."""

    repository: bool
    names: tuple[str, ...]
    trained: int
    rows: tuple[SkillRow, ...]


def overview(folder: Path, first: int, most: int) -> Overview:
    """List a page of the skills of a project; that something is missing is part of the answer, not an error."""
    try:
        catalogue = catalogue_of(folder)
    except RepositoryError:
        project = Project.find(folder)
        here = _in_work_tree(project, first, most)
        rows = tuple(SkillRow(one.name, one.path, one.suite) for one in here)
        return Overview(repository=False, names=tuple(sorted(project.skill_names().values())), trained=0, rows=rows)
    return _page(catalogue, first, most, int(time.monotonic() / _SECONDS))


# Catalogues are made anew for other commits and another skillopt.toml, and then differ.
@lru_cache(maxsize=16)
def _page(catalogue: Catalogue, first: int, most: int, moment: int) -> Overview:
    project, paths = catalogue.project, catalogue.paths_at(moment)
    names = tuple(sorted({*paths, *catalogue.names}))
    shown = names[first : first + most]
    here = {one.name: one for one in project.with_suites({paths[name]: name for name in shown if name in paths})}
    histories = catalogue.histories(shown)
    rows = []
    for name in shown:
        found, served = here.get(name, FoundSkill(name, "", "")), catalogue.chosen(name)
        committed = catalogue.default if served is None and name in catalogue.committed else ""
        path = found.path or catalogue.committed.get(name, "")
        rows.append(SkillRow(name, path, found.suite, histories[name], served, committed))
    return Overview(repository=True, names=names, trained=len(catalogue.tips), rows=tuple(rows))


def _in_work_tree(project: Project, first: int, most: int) -> Sequence[FoundSkill]:
    names = sorted((name, path) for path, name in project.skill_names().items())
    return project.with_suites({path: name for name, path in names[first : first + most]})


_LISTED = 20  # files that are listed
_ROWS = 100  # skills on a page: at most some 9,000 tokens
_START = "start"  # too short to be the start of a version
_DRAFT = "draft"
_PLUGIN_VERSION = "PLUGIN_VERSION_OF_SKILLOPT"  # set by the plugin's launcher
_NOT_ACCEPTED = "This is a draft: it is not accepted and not served. Do not work by it."
_BEGIN = {
    "repository": "There is no git repository around this folder, and skills are versioned in git. Run `git init`, "
    "commit the skill, then call list_skills again.",
    "skills": "There is no skill here yet. A skill is a folder such as `skills/my-skill/` with a `SKILL.md`. Write "
    "one and commit it, then call list_skills again.",
    "suites": "No skill has a suite of tasks, and without tasks nothing can be measured. The prompt `write-evals` "
    "says how to write `evals/evals.json` in the skill's folder.",
    "versions": "No version was accepted yet: what is committed is served as it is. Train a skill: the prompt "
    "`optimize-skill` says how.",
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
        str | None,
        Field(
            description="Say all about this skill instead: suite, target, what can be shown, likely cost, versions, "
            "draft, next step.",
            max_length=64,
        ),
    ] = None,
    page: Page = 1,
) -> str:
    """List the skills of the project, or say all about one; say how to begin where something is missing."""
    if name is not None:
        return describe_skill(folder, name, page)
    found = overview(folder, (page - 1) * _ROWS, _ROWS)
    pages = max(1, -(-len(found.names) // _ROWS))
    if page > pages:
        raise UsageError(f"expected a page from 1 to {pages}, found {page}; ask for one of them")
    rows = [_row(row) for row in found.rows]
    head = ("skill", "versions", "served", "on val", "suite", "folder")
    listed = [table(head, rows)] if rows else []
    return "\n\n".join(["# Skills", *_count(found, page, pages), *listed, *_other_version(), *_guidance(found, pages)])


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
        message = f"expected a file of {name} {skill.version[:SHOWN_DIGITS]}, found {file[:80]!r}; its files: {listed}"
        raise UsageError(message)
    uri = "" if is_draft else f", {skill_address(name, file, skill.version if version else None)}"
    what = (
        f"{_NOT_ACCEPTED}\n\nDraft {skill.version[:SHOWN_DIGITS]} of {skill.at}" if is_draft else _origin(folder, skill)
    )
    head = f"# {name}: {file}\n\n{what}{uri}"
    others = [path for path in paths if path != file][:_LISTED]
    more = f"\n\nOther files: {', '.join(others)}" if others else ""
    try:
        text = shown.content.decode("utf-8")
    except UnicodeDecodeError:
        return f"{head}\n\n{len(shown.content)} bytes that are not text; read the resource instead.{more}"
    return f"{head}\n\n{paginate(text, page, fence='markdown' if file.endswith('.md') else '')}{more}"


def rollback_skill_tool(folder: Path, name: SkillName, version: _VersionName) -> str:
    """Publish an older version of a skill as a new commit on its branch."""
    wanted = accepted_version(folder, name, version)
    done = roll_back(selection_of(folder, name), wanted)
    newest = (
        f"Commit {done.commit[:SHOWN_DIGITS]} on `{done.branch}` holds the text of {done.version[:SHOWN_DIGITS]} again."
    )
    return f"{newest} Nothing was deleted; to undo this, roll back to the version before it."


def _origin(folder: Path, skill: ServedSkill) -> str:
    """Return where a served text is from."""
    if skill.trained:
        return f"Version {skill.version[:SHOWN_DIGITS]} of {skill.at}"
    return f"Not trained: the text of branch {catalogue_of(folder).branch} at {skill.version[:SHOWN_DIGITS]}"


def _changes(folder: Path, name: str, since: str, version: str | None, page: int) -> str:
    selection = selection_of(folder, name)
    older = None if since == _START else accepted_version(folder, name, since)
    if version == _DRAFT:
        changed = compare_versions(selection, older, _DRAFT) if older else compare_versions(selection, _DRAFT, None)
    else:
        newer = served_skill(folder, name, version)
        if not newer.trained:
            raise UsageError(
                f"skill {name!r} is not trained at {newer.version[:SHOWN_DIGITS]}: nothing changed since any version"
            )
        changed = compare_versions(selection, older, newer.version)
    title = f"# {name}: {changed.before[:SHOWN_DIGITS]} to {changed.after[:SHOWN_DIGITS]}"
    if version == _DRAFT:
        title += f"\n\n{_NOT_ACCEPTED} {TAKE.format(name=name)}"
    return f"{title}\n\n{paginate(changed.text or 'The two are equal.', page, fence='diff')}"


def _count(found: Overview, page: int, pages: int) -> list[str]:
    if pages == 1:
        return []
    more = f"; call again with page={page + 1} for more" if page < pages else ""
    many = f"{len(found.names)} skills, {found.trained} with a branch of versions; page {page} of {pages}{more}."
    return [f"{many} With `name`, all about one."]


def _row(row: SkillRow) -> tuple[str, ...]:
    served = row.served
    score = score_words(dict(served.trailers)) if served else ""
    declined = f", {row.declined} declined" if row.declined else ""
    count = f"{len(row.versions)}{declined}" if row.versions else "not trained"
    text = served.sha[:SHOWN_DIGITS] if served else row.committed[:SHOWN_DIGITS] or "not committed"
    return (row.name, count, text, score, row.suite, row.path)


def _other_version() -> list[str]:
    """Say that the plugin that started this server is of another version."""
    plugin = os.environ.get(_PLUGIN_VERSION, "")
    if plugin in ("", __version__):
        return []
    update = "update the plugin in the client, or install the program again"
    return [f"Tell the user: the plugin is version {plugin[:20]}, the program {__version__}; {update}."]


def _guidance(found: Overview, pages: int) -> list[str]:
    """List what is missing before a first run, most basic first."""
    missing = []
    if not found.repository:
        missing.append(_BEGIN["repository"])
    if not found.names:
        missing.append(_BEGIN["skills"])
    elif pages == 1 and not any(row.suite for row in found.rows):
        missing.append(_BEGIN["suites"])
    elif not found.trained:
        missing.append(_BEGIN["versions"])
    return missing
