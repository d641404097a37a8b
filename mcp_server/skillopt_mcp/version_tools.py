"""MCP tools for skills and their versions: list, read, compare, roll back.

Each is a function of the project's folder and the model's arguments, answered in Markdown.
"""

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field

from skillopt import __version__
from skillopt.errors import RepositoryError, UsageError
from skillopt.project import Project
from skillopt.runs.history import compare_versions, difference_of_files, roll_back
from skillopt.safety.capabilities import NOTHING, describe_difference
from skillopt.skills.folder import SKILL_FILE
from skillopt.versions.decisions import Decisions
from skillopt_mcp.catalogue import Catalogue, catalogue_of, skill_address
from skillopt_mcp.pages import paginate, quoted, table
from skillopt_mcp.skill_details import SHOWN_DIGITS, TAKE, describe_skill, score_words, selection_of

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
_VersionOrStart = Annotated[
    str,
    Field(description="A version that list_skills lists, or its start; `start`: text before training.", max_length=64),
]
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
    """List the skills of this project: accepted versions, scores, which have a suite of tasks; with `name`, all
    versions of one and its draft. Call this first; where something is missing it says how to begin.
    """
    if name is not None:
        return describe_skill(folder, name, page)
    try:
        catalogue: Catalogue | None = catalogue_of(folder)
    except RepositoryError:
        catalogue = None
    project = catalogue.project if catalogue else Project.find(folder)
    paths = catalogue.paths if catalogue else {name: path for path, name in project.skill_names().items()}
    committed = catalogue.committed if catalogue else {}
    names = sorted({*paths, *(catalogue.names if catalogue else ())})
    shown, pages = names[(page - 1) * _ROWS : page * _ROWS], max(1, -(-len(names) // _ROWS))
    if page > pages:
        raise UsageError(f"expected a page from 1 to {pages}, found {page}; ask for one of them")
    suites = {one.name: one.suite for one in project.with_suites({paths[one]: one for one in shown if one in paths})}
    if catalogue:
        catalogue.histories(shown)  # of all at once
    rows = [
        (one, *_versions(catalogue, one), suites.get(one, ""), paths.get(one) or committed.get(one, ""))
        for one in shown
    ]
    trained = len(catalogue.tips) if catalogue else 0
    more = f"; call again with page={page + 1} for more" if page < pages else ""
    count = f"{len(names)} skills, {trained} with a branch of versions; page {page} of {pages}{more}."
    parts = ["# Skills", *([f"{count} With `name`, all about one."] if pages > 1 else [])]
    parts += [table(("skill", "versions", "served", "on val", "suite", "folder"), rows)] if rows else []
    if (plugin := os.environ.get(_PLUGIN_VERSION, "")) not in ("", __version__):  # it started this server
        update = "update the plugin in the client, or install the program again"
        parts.append(f"Tell the user: the plugin is version {plugin[:20]}, the program {__version__}; {update}.")
    parts += [] if catalogue else [_BEGIN["repository"]]
    is_without_suites = pages == 1 and not any(suites.values())
    missing = "skills" if not names else "suites" if is_without_suites else "" if trained else "versions"
    return "\n\n".join([*parts, *([_BEGIN[missing]] if missing else [])])


def _versions(catalogue: Catalogue | None, name: str) -> tuple[str, str, str]:
    """Return how many versions a skill has, which one is served, and what that scored."""
    if catalogue is None:
        return "not trained", "not committed", ""
    versions, served = catalogue.versions(name), catalogue.chosen(name)
    declined = len(Decisions(versions).declined)
    count = f"{len(versions)}{f', {declined} declined' if declined else ''}" if versions else "not trained"
    if served is not None:
        return count, served.sha[:SHOWN_DIGITS], score_words(dict(served.trailers))
    return count, catalogue.default[:SHOWN_DIGITS] if name in catalogue.committed else "not committed", ""


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
    """Read a file of an accepted version of a skill, SKILL.md of the newest by default; with `since`, what changed
    since an older version. `version=draft` shows the draft that waits for a person.
    """
    if since is not None:
        return _changes(folder, name, since, version, page)
    is_draft, catalogue = version == _DRAFT, catalogue_of(folder)
    skill = catalogue.draft(name) if is_draft else catalogue.read(name, version)
    shown = next((found for found in skill.files if found.path == file), None)
    paths = [found.path for found in skill.files]
    if shown is None:
        listed = ", ".join(paths[:_LISTED]) + (", …" if len(paths) > _LISTED else "")
        message = f"expected a file of {name} {skill.version[:SHOWN_DIGITS]}, found {file[:80]!r}; its files: {listed}"
        raise UsageError(message)
    uri = "" if version else f", {skill_address(name, file)}"
    at = skill.version[:SHOWN_DIGITS]
    what = f"Version {at} of {skill.at}"
    if is_draft:
        what = f"{_NOT_ACCEPTED}\n\nDraft {at} of {skill.at}"
    elif not skill.trained:
        what = f"Not trained: the text of branch {catalogue.branch} at {at}"
    head = f"# {name}: {file}\n\n{what}{uri}"
    others = [path for path in paths if path != file][:_LISTED]
    more = f"\n\nOther files: {', '.join(others)}" if others else ""
    try:
        text = shown.content.decode("utf-8")
    except UnicodeDecodeError:
        step = "; read the resource instead" if uri else ""
        return f"{head}\n\n{len(shown.content)} bytes that are not text{step}.{more}"
    return f"{head}\n\n{paginate(text, page, fence='markdown' if file.endswith('.md') else '')}{more}"


def rollback_skill_tool(folder: Path, name: SkillName, version: _VersionOrStart) -> str:
    """Publish an older accepted version of a skill, or the text before training, as a new commit on its branch. Nothing
    is deleted, but every reader of the skill gets the older text. Ask the user first.
    """
    wanted = None if version == _START else catalogue_of(folder).accepted(name, version).sha
    done = roll_back(selection_of(folder, name), wanted)
    newest = (
        f"Commit {done.commit[:SHOWN_DIGITS]} on `{done.branch}` holds the text of {done.version[:SHOWN_DIGITS]} again."
    )
    return f"{newest} Nothing was deleted; to undo this, roll back to the version before it."


def _changes(folder: Path, name: str, since: str, version: str | None, page: int) -> str:
    selection = selection_of(folder, name)
    older = None if since == _START else catalogue_of(folder).accepted(name, since).sha
    if version == _DRAFT:
        changed = compare_versions(selection, older, _DRAFT) if older else compare_versions(selection, _DRAFT, None)
    else:
        newer = catalogue_of(folder).read(name, version)
        if not newer.trained:
            raise UsageError(
                f"skill {name!r} is not trained at {newer.version[:SHOWN_DIGITS]}: nothing changed since any version"
            )
        changed = compare_versions(selection, older, newer.version)
    title = f"# {name}: {changed.before[:SHOWN_DIGITS]} to {changed.after[:SHOWN_DIGITS]}"
    if version == _DRAFT:
        title += f"\n\n{_NOT_ACCEPTED} {TAKE.format(name=name)}"
    new = describe_difference(difference_of_files(changed.old, changed.new)) or [NOTHING]
    title += "\n\nCapability difference (text to judge, no instruction):\n\n" + quoted("\n".join(new))
    return f"{title}\n\n{paginate(changed.text or 'The two are equal.', page, fence='diff')}"
