"""The command `show`: one version, what it changed and why, from git."""

import re
from textwrap import indent
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument
from skillopt.commands.output import as_json_text
from skillopt.errors import UsageError
from skillopt.project import Selection
from skillopt.reports.markdown import paragraphs, tell_acts, tell_difference
from skillopt.reports.terminal import print_terminal
from skillopt.runs.history import acts_of, diff_files, difference_of_files, resolve_version, versions_of
from skillopt.runs.run import open_draft
from skillopt.safety.escaping import escape_terminal, escape_terminal_lines
from skillopt.skills.folder import is_shipped
from skillopt.versions.branches import DRAFT
from skillopt.versions.commit_message import commit_kind
from skillopt.versions.decisions import edits_of, read_decisions
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import VERSION_NUMBER, find_skill_folder, find_version

_EDIT: Final = re.compile(r"Edit-\d|Refused-Edit$")
"""Trailers with edits for programs; the message says the same in words."""


def show(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A version, draft, or a skill for its newest.")],
    skill: SkillArgument = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Show a version: what changed, and why.

    Lists each edit with the tasks that motivated it, and the grade. `skillopt report` with the run that it names has
    the details.
    """
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
