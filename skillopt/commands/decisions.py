"""The commands by which a person decides on versions: `take`, `rollback` and `decline`. Nothing is measured.

A model must not take a draft: there is no tool of the MCP server for it.
"""

from datetime import UTC, datetime
from typing import Annotated

import typer

from skillopt.commands.options import JsonOption, SkillArgument
from skillopt.commands.output import SHORT, show
from skillopt.errors import UsageError, VersionConflictError
from skillopt.figures import name_grade
from skillopt.gate.grades import Grade
from skillopt.project import Selection
from skillopt.runs.decline import decline as decline_versions
from skillopt.runs.decline import drop_offered, undecline
from skillopt.runs.history import Restored, roll_back
from skillopt.runs.plan import read_version
from skillopt.runs.run import draft_obstacle, open_draft, read_grading
from skillopt.safety.capabilities import capability_difference, describe_difference
from skillopt.safety.escaping import count_noun, escape_terminal
from skillopt.safety.lint import find_marks, lint_change
from skillopt.storage.locks import writer_lock
from skillopt.versions.branches import FILES_DIGEST
from skillopt.versions.commit_message import TAKEN
from skillopt.versions.decisions import PersonsWord
from skillopt.versions.repository import NewVersion

_LONGEST_NUMBER = 3
"""Digits of the number of an edit; more are the beginning of a commit."""


def take(skill: SkillArgument = None, *, as_json: JsonOption = False) -> None:
    """Make the draft the newest version, after you approve it.

    The commit records its grade and who took it. Review it first with `skillopt diff SKILL draft`.
    """
    selection = Selection(skill)
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    branch = open_draft(project.root, repository, target)
    with writer_lock(project.root, target.name):
        draft = branch.read()
        if draft is None:
            raise UsageError(f"skill {target.name!r} has no draft to take; see `skillopt log {target.name}`")
        if obstacle := draft_obstacle(repository, target, branch, draft):
            raise VersionConflictError(obstacle)
        tip, signed = repository.branch_tip(target.name), repository.identity
        before = read_version(repository, target.name, tip or draft.parent, branch.path, missing_ok=True)
        after = read_version(repository, target.name, draft.sha, branch.path)
        new = NewVersion(
            skill=target.name,
            path=branch.path,
            files=after.shipped,
            subject=draft.subject.replace(": draft, ", ": take the draft, ", 1),
            body=draft.body,
            trailers=(*(pair for pair in draft.trailers if pair[0] != FILES_DIGEST), (TAKEN, signed)),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            # A text that training began with and that git lacked lies between the branch and the draft.
            parent=draft.parent if tip is None or repository.contains(draft.parent, tip) else tip,
            expected_tip=tip,
        )
        commit = repository.commit_version(new)
        branch.remove()
    texts, grading, name = (before.document.text, after.document.text), read_grading(draft.trailers), target.name
    remarks = (*(finding.message for finding in lint_change(*texts)), *map(str, find_marks(*texts)))
    remarks += tuple(describe_difference(capability_difference(*texts)))
    found = {"skill": name, "branch": f"skillopt/{name}", "commit": commit, "by": signed}
    lines = [f"skillopt/{name} is now {commit[:SHORT]}, taken by {escape_terminal(signed)}"]
    lines.append(f"grade: {name_grade(grading)}")
    if grading is not None and grading.grade is Grade.CANNOT_TELL:
        lines.append("warning: no measurement says that it is better; measure it again with another judge")
    lines += [f"review this: {escape_terminal(remark)}" for remark in remarks]
    lines.append(f"to undo: skillopt log {name}; skillopt rollback {name} VERSION")
    show(found | {"grading": grading, "remarks": remarks}, lambda _: "\n".join(lines), as_json=as_json)


def rollback(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    version: Annotated[str, typer.Argument(help="The version to publish again.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Publish an older version as a new commit."""
    show(roll_back(Selection(skill), version), _restored_text, as_json=as_json)


def decline(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT…]",
            help="A version, which is declined with all later ones; draft; or numbers of edits as "
            "`skillopt log` lists them. All that the default branch lacks, else the draft, when left out.",
        ),
    ] = None,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Undo declining a version.")] = False,
    reason: Annotated[
        str, typer.Option("--reason", help="Why; shown to the optimizer model, at most 300 characters.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Refuse versions, the draft, or single edits.

    They stay in the history, marked as declined. Training starts from the text before them, or without the edits,
    and does not propose them again. Nothing is measured.
    """
    words, selection, word = what or [], Selection(skill), None
    if reason:
        word = PersonsWord.said(selection.project().repository().user_name, reason)
    if words and all(one.isdecimal() and len(one) <= _LONGEST_NUMBER for one in words) and not undo:
        done = drop_offered(selection, words, word)
        found = {"skill": done.skill, "branch": done.branch, "commit": done.commit, "edits": done.edits}
        lines = [f"dropped edit {one.number}: {escape_terminal(one.edit.summary)}" for one in done.edits]
        lines.append(f"{done.branch} is now {done.commit[:SHORT]}, without it")
        gate = f"skillopt gate {done.before[:SHORT]} {done.commit[:SHORT]} --direct"
        lines.append(f"to measure it against the text with it: {gate}")
        show(found, lambda _: "\n".join(lines), as_json=as_json, folds=False)
        return
    if len(words) > 1:
        raise UsageError(f"expected one version, or numbers of edits, found {' '.join(words)!r}")
    version = "".join(words)
    if undo:
        show(undecline(selection, version, word), _restored_text, as_json=as_json)
        return
    declined = decline_versions(selection, version, word)
    names, edits = ", ".join(sha[:SHORT] for sha in declined.declined), count_noun(declined.edits, "edit")
    told = (
        f"declined {names} by {escape_terminal(declined.by)}: {edits} that training will not try again\n"
        f"{declined.branch} is now {declined.commit[:SHORT]}, the text that training starts from\n"
        f"to take it back: skillopt decline --undo {declined.skill} {declined.declined[-1][:SHORT]}"
    )
    show(declined, lambda _: told, as_json=as_json)


def _restored_text(result: Restored) -> str:
    return f"{result.branch} is now {result.commit[:SHORT]}, with the text of {result.version[:SHORT]}"
