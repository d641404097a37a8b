"""The commands by which a person says what the newest version is: `take` and `rollback`. Nothing is measured.

A model must not take a draft: there is no tool of the MCP server for it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from skillopt.commands.decline import restored_text
from skillopt.commands.options import JsonOption, SkillArgument
from skillopt.commands.output import SHORT, show
from skillopt.errors import UsageError, VersionConflictError
from skillopt.figures import name_grade
from skillopt.gate.grades import Grade
from skillopt.project import Selection
from skillopt.runs.history import roll_back
from skillopt.runs.plan import read_version
from skillopt.runs.run import draft_obstacle, open_draft, read_grading
from skillopt.safety.capabilities import capability_difference, describe_difference
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.lint import find_marks, lint_change
from skillopt.storage.locks import writer_lock
from skillopt.versions.branches import FILES_DIGEST
from skillopt.versions.commit_message import TAKEN
from skillopt.versions.repository import NewVersion


def take(skill: SkillArgument = None, *, as_json: JsonOption = False) -> None:
    """Make the draft the newest version, after you approve it.

    The commit records its grade and who took it. Review it first with `skillopt diff SKILL draft`.
    """
    show(_take(Selection(skill)), _taken_text, as_json=as_json)


def rollback(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    version: Annotated[str, typer.Argument(help="The version to publish again.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Publish an older version as a new commit."""
    show(roll_back(Selection(skill), version), restored_text, as_json=as_json)


def _take(selection: Selection) -> dict[str, Any]:
    """Make the draft of a skill its newest version."""
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
    texts = (before.document.text, after.document.text)
    remarks = (*(finding.message for finding in lint_change(*texts)), *map(str, find_marks(*texts)))
    remarks += tuple(describe_difference(capability_difference(*texts)))
    return {
        "skill": target.name,
        "branch": f"skillopt/{target.name}",
        "commit": commit,
        "by": signed,
        "grading": read_grading(draft.trailers),
        "remarks": remarks,
    }


def _taken_text(result: Mapping[str, Any]) -> str:
    lines = [f"{result['branch']} is now {result['commit'][:SHORT]}, taken by {escape_terminal(result['by'])}"]
    lines.append(f"grade: {name_grade(result['grading'])}")
    if result["grading"] is not None and result["grading"].grade is Grade.CANNOT_TELL:
        lines.append("warning: no measurement says that it is better; measure it again with another judge")
    lines += [f"review this: {escape_terminal(remark)}" for remark in result["remarks"]]
    return "\n".join([*lines, f"to undo: skillopt log {result['skill']}; skillopt rollback {result['skill']} VERSION"])
