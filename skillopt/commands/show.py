"""The command `show`: one version, what it changed and why, or what put each line here, from git."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument
from skillopt.commands.output import SHORT, as_json_text, list_tasks
from skillopt.errors import UsageError
from skillopt.project import Selection
from skillopt.reports.markdown import paragraphs, tell_acts, tell_difference
from skillopt.reports.terminal import print_terminal
from skillopt.runs.history import acts_of, diff_files, difference_of_files, needed_lines, resolve_version, versions_of
from skillopt.runs.plan import read_version
from skillopt.runs.run import open_draft
from skillopt.safety.escaping import escape_terminal, escape_terminal_lines
from skillopt.skills.folder import is_shipped
from skillopt.skills.trained_files import SkillPlace
from skillopt.versions.branches import DRAFT
from skillopt.versions.commit_message import ROLLBACK, Version, commit_kind
from skillopt.versions.decisions import edits_of, read_decisions
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import VERSION_NUMBER, find_skill_folder, find_version

_EDIT: Final = re.compile(r"Edit-\d|Refused-Edit$")
"""Trailers with edits for programs; the message says the same in words."""


def show(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A version, draft, or a skill for its newest.")],
    skill: SkillArgument = None,
    *,
    lines: Annotated[
        bool,
        typer.Option("--lines", help="List each line of the newest version with its version, run and tasks."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a version: what changed, and why.

    Lists each edit with the tasks that motivated it, and the grade. `skillopt report` with the run that it names has
    the details.
    """
    if lines:
        _show_lines(Selection(skill or version), as_json=as_json)
        return
    selection = Selection(skill)
    project = selection.project()
    repository = project.repository()
    found = repository.commit(_commit(selection, repository, version))
    name = found.trailer("Skill")
    if not name:
        raise UsageError(f"expected a version, found the commit {found.sha[:10]} that is none; see `skillopt log`")
    declined = read_decisions(repository, name).declined_by.get(found.sha)
    new = _files(repository, found.sha, name)
    old = _files(repository, found.parent, name) if found.parent else {}
    diff, difference, acts = diff_files(old, new), difference_of_files(old, new), acts_of(project, found)
    if as_json:
        said = {"skill": name, "version": found, "kind": commit_kind(found), "difference": difference, "acts": acts}
        typer.echo(as_json_text(said | {"diff": diff, "edits": edits_of(found), "declined": declined}))
        return
    parts = [f"{name} {found.sha}\n{found.at}  {escape_terminal(found.subject)}"]
    parts.append(print_terminal(paragraphs(tell_difference(difference), tell_acts(acts))))
    parts += [indent(escape_terminal_lines(found.body), "  ")] if found.body else []
    parts += [f"declined{escape_terminal(declined.signature)}"] if declined is not None else []
    trailers = [(key, value) for key, value in found.trailers if not _EDIT.match(key)]
    parts.append("\n".join(f"{escape_terminal(key)}: {escape_terminal(value)}" for key, value in trailers))
    typer.echo("\n\n".join([*parts, escape_terminal_lines(diff) or "no text changed"]))


def _commit(selection: Selection, repository: Repository, named: str) -> str:
    """Return the commit of a version, of the draft, or of a skill's newest version, else of its draft."""
    project = selection.project()
    if named != DRAFT:
        try:
            return repository.resolve(named)
        except UsageError:
            if named not in {*project.entries, *(one.name for one in project.discover())}:
                if not VERSION_NUMBER.fullmatch(named):
                    raise
                return find_version(repository, project.target(selection).name, named)
        selection = Selection(named)
    branch = open_draft(project.root, repository, project.target(selection))
    waiting = named == DRAFT or (branch.tip and not repository.versions(named))
    return resolve_version(branch, DRAFT) if waiting else versions_of(repository, named)[0].sha


def _files(repository: Repository, commit: str, skill: str) -> dict[str, bytes]:
    """Read the skill wherever the commit has it."""
    place = find_skill_folder(repository, commit, skill)
    files = repository.read_folder(commit, place) if place else ()
    return {file.path: file.content for file in files if is_shipped(file.path)}


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the newest version, and what put it here; `needed_by` are tasks that failed without it."""

    file: str
    number: int
    text: str
    commit: str
    version: bool
    run: str
    tasks: tuple[str, ...]
    reason: str
    needed_by: tuple[str, ...]


def _show_lines(selection: Selection, *, as_json: bool) -> None:
    """Show which version, run and tasks put each line of the newest version here."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    newest, name = versions_of(repository, target.name)[0].sha, target.name
    place, needed = target.place(repository), needed_lines(repository, target.name)
    found: list[_Line] = []
    for part in read_version(repository, name, newest, place).document.parts:
        sources = _sources(repository, newest, f"{SkillPlace.parse(place).prefix}{part.path}")
        for number, (version, text) in enumerate(sources, 1):
            wanted = text.strip()
            edits = (edit for edit in edits_of(version) if wanted in map(str.strip, edit.content.splitlines()))
            edit = next(edits, None) if wanted else None
            line = _Line(
                part.path,
                number,
                text,
                version.sha,
                version=bool(version.trailer("Skill")),
                run=version.trailer("Skillopt-Run"),
                tasks=edit.tasks if edit else (),
                reason=edit.rationale if edit else "",
                needed_by=needed.get(wanted, ()),
            )
            found.append(line)
    typer.echo(as_json_text({"skill": name, "version": newest, "lines": found}) if as_json else _table(found))


def _sources(repository: Repository, commit: str, path: str) -> list[tuple[Version, str]]:
    """Return the commit that brought each line; of a rollback, the one that brought it to the older version."""
    found: list[tuple[Version, str]] = []
    older: dict[str, list[tuple[Version, str]]] = {}
    for sha, number, text in repository.blame(commit, path):
        version = repository.commit(sha)
        again = version.trailer(ROLLBACK)
        if again and sha not in older:
            older[sha] = _sources(repository, again, path)
        found.append(older[sha][number - 1] if again else (version, text))
    return found


def _table(lines: Sequence[_Line]) -> str:
    """Write each line with where it comes from, and the tasks that its edit cites, else those that need it."""
    rows = []
    for line in lines:
        needed = f"needed by {list_tasks(line.needed_by)}" if line.needed_by else ""
        run = (escape_terminal(line.run) or "-") if line.version else "people"
        rows.append((line.commit[:SHORT], run, list_tasks(line.tasks) or needed))
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    several = len({line.file for line in lines}) > 1
    places = [f"{line.file}:{line.number}" if several else f"{line.number:>4}" for line in lines]
    return "\n".join(
        f"{'  '.join(map(str.ljust, row, widths))}  {place} | {escape_terminal(line.text)}".rstrip()
        for row, place, line in zip(rows, places, lines, strict=True)
    )
