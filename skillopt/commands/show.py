"""The command `show`: one version, what it changed and why, from git and, for what is too long for it, the ledger."""

import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, select
from skillopt.commands.output import as_json_text, list_tasks
from skillopt.errors import UsageError
from skillopt.gate.comparison import Verdict
from skillopt.loop.events import DraftChanged, DraftGraded, EditScreened, VersionAccepted, decode_event
from skillopt.project import Selection
from skillopt.runs.draft_publication import recover_draft
from skillopt.runs.history import diff_files, resolve_version
from skillopt.runs.version_message import grade_of
from skillopt.safety.escaping import escape_terminal, escape_terminal_lines
from skillopt.skills.edits import Change
from skillopt.skills.folder import is_shipped
from skillopt.storage.ledger import Ledger
from skillopt.versions.commit_message import Version, commit_kind
from skillopt.versions.decisions import PersonsWord, edits_of, read_decisions
from skillopt.versions.draft_branch import DRAFT
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import find_skill_folder

__all__ = ["show"]

_SKILL: Final = "Skill"
_EDIT: Final = re.compile(r"Edit-\d|Refused-Edit$")
"""Trailers with edits for programs; the message says the same in words."""


def show(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A version, as `skillopt log` lists it, or draft.")],
    skill: Annotated[
        str | None, typer.Argument(help="Of which skill the draft is meant. May be left out if there is only one.")
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Show a version: what changed and why.

    Each edit with the tasks that motivated it and what leaving it out showed, and what the version is worth, as far
    as the ledger here holds that.
    """
    selection = select(skill)
    project = selection.project()
    repository = project.repository()
    found = repository.commit(_draft(selection) if version == DRAFT else repository.resolve(version))
    name = found.trailer(_SKILL)
    if not name:
        raise UsageError(f"expected a version, found the commit {found.sha[:10]} that is none; see `skillopt log`")
    recorded = _recorded(project.root, found)
    declined = read_decisions(repository, name).declined_by.get(found.sha)
    difference = _diff(repository, found, name)
    if as_json:
        said = {"skill": name, "version": found, "kind": commit_kind(found), "recorded": recorded}
        typer.echo(as_json_text(said | {"diff": difference, "edits": edits_of(found), "declined": declined}))
        return
    parts = _message(found, recorded, declined)
    if recorded is not None:
        parts += _record(recorded)
    elif commit_kind(found) in ("accepted", "taken", "draft"):
        parts.append("the ledger here holds nothing of its run; this is what its commit says")
    typer.echo("\n\n".join([*parts, escape_terminal_lines(difference) or "no text changed"]))


@dataclass(frozen=True, slots=True)
class _RecordedEdit:
    """An edit of a version, and what leaving it out showed."""

    change: Change
    ablation: EditScreened | None


@dataclass(frozen=True, slots=True)
class _Recorded:
    """Ledger record of a version or a draft: the gate's verdict, None for a draft, and its edits."""

    verdict: Verdict | None
    edits: tuple[_RecordedEdit, ...]


def _recorded(root: Path, version: Version) -> _Recorded | None:
    """Read what the ledger here has of a version; None where it has nothing of its run."""
    if not (root / ".skillopt" / "ledger.db").exists():
        return None
    with closing(Ledger.open(root, read_only=True)) as ledger:
        run = ledger.find_run(version.trailer("Skillopt-Run"))
        events = [decode_event(row.kind, row.payload) for row in ledger.events(run.id)] if run else []
    step, verdict = version.trailer("Skillopt-Step"), None
    found: list[VersionAccepted | DraftChanged | DraftGraded] = []
    if step:
        found = [event for event in events if isinstance(event, VersionAccepted) and str(event.step) == step]
    elif grade_of(version.trailers):  # a draft, or a version that was one: the newest of its run
        found = [event for event in events if isinstance(event, DraftChanged | DraftGraded) and event.changes]
    if not found:
        return None
    if isinstance(found[-1], VersionAccepted):
        verdict = found[-1].verdict
    ablations = {one.edit.id: one for one in events if isinstance(one, EditScreened)}
    return _Recorded(verdict, tuple(_RecordedEdit(one, ablations.get(one.edit.id)) for one in found[-1].changes))


def _draft(selection: Selection) -> str:
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    recover_draft(project.root, repository, target.name)
    return resolve_version(repository, target, DRAFT)


def _diff(repository: Repository, version: Version, skill: str) -> str:
    new = _files(repository, version.sha, skill)
    old = _files(repository, version.parent, skill) if version.parent else {}
    return diff_files(old, new)


def _files(repository: Repository, commit: str, skill: str) -> dict[str, bytes]:
    """Read the skill wherever the commit has it."""
    place = find_skill_folder(repository, commit, skill)
    files = repository.read_folder(commit, place) if place else ()
    return {file.path: file.content for file in files if is_shipped(file.path)}


def _message(version: Version, recorded: _Recorded | None, declined: PersonsWord | None) -> list[str]:
    """Write what the commit says."""
    skill = version.trailer(_SKILL)
    parts = [f"{skill} {version.sha}\n{version.at}  {escape_terminal(version.subject)}"]
    # Recorded edits are listed with more beside them; the last paragraph is the result.
    body = version.body if recorded is None else version.body.rpartition("\n\n")[2]
    if body:
        parts.append(indent(escape_terminal_lines(body), "  "))
    if declined is not None:
        why = f": {escape_terminal(declined.reason)}" if declined.reason else ""
        parts.append(f"declined by {escape_terminal(declined.by)}{why}")
    shown = [(key, value) for key, value in version.trailers if not _EDIT.match(key)]
    return [*parts, "\n".join(f"{escape_terminal(key)}: {escape_terminal(value)}" for key, value in shown)]


def _record(recorded: _Recorded) -> list[str]:
    """Write what the ledger holds: each edit, and the tasks that changed."""
    parts = [_edit(number, edit) for number, edit in enumerate(recorded.edits, 1)]
    verdict = recorded.verdict
    changes = (("fixed", verdict.fixed), ("broke", verdict.broken)) if verdict else ()
    return parts + [f"{change} on val: {list_tasks(tasks)}" for change, tasks in changes if tasks]


def _edit(number: int, recorded: _RecordedEdit) -> str:
    change, found = recorded.change, recorded.ablation
    lines = [f"edit {number}, about {change.tokens} tokens: {escape_terminal(change.edit.summary)}"]
    lines.append(f"  why: {escape_terminal(change.edit.rationale) or 'no reason was given'}")
    if change.edit.tasks:
        lines.append(f"  motivated by train tasks {list_tasks(change.edit.tasks)}")
    if found is not None:
        scores = "" if found.before is None else f", score {found.before:.3f} without it"
        scores += "" if found.after is None else f", {found.after:.3f} with it"
        lines.append(f"  {escape_terminal(found.reason)}{scores}")
    return "\n".join(lines)
