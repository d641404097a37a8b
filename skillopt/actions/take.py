"""The user action `take`: make the draft of a skill a version by a person's word. Measures nothing.

A model must not do this: there is no tool of the MCP server for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from skillopt.errors import UsageError, VersionConflictError
from skillopt.gate.grades import Grading
from skillopt.project import Selection
from skillopt.runs.draft_publication import draft_obstacle, recover_draft
from skillopt.runs.plan import read_version
from skillopt.runs.version_message import read_grading
from skillopt.runs.version_record import recorded_versions
from skillopt.safety.lint import find_marks, lint_change
from skillopt.skills.folder import files_of
from skillopt.storage.locks import writer_lock
from skillopt.versions.commit_message import TAKEN
from skillopt.versions.draft_branch import FILES_DIGEST, DraftBranch
from skillopt.versions.repository import NewVersion

__all__ = ["Taken", "take"]


@dataclass(frozen=True, slots=True)
class Taken:
    """A draft that is a version now."""

    skill: str
    branch: str
    commit: str
    by: str
    grading: Grading | None
    remarks: tuple[str, ...]
    recorded: bool


def take(
    selection: Selection, *, now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds")
) -> Taken:
    """Make the draft of a skill its newest version."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    recover_draft(project.root, repository, target.name)
    with writer_lock(project.root, target.name):
        branch = DraftBranch(repository, target.name, repository.relative(target.folder))
        draft = branch.read()
        if draft is None:
            raise UsageError(f"skill {target.name!r} has no draft to take; see `skillopt log {target.name}`")
        if obstacle := draft_obstacle(repository, target, branch, draft):
            raise VersionConflictError(obstacle)
        before = read_version(repository, target.name, draft.parent, branch.path, missing_ok=True)
        after = read_version(repository, target.name, draft.sha, branch.path)
        tip = repository.branch_tip(target.name)
        signed = repository.identity
        trailers = tuple(pair for pair in draft.trailers if pair[0] != FILES_DIGEST)
        new = NewVersion(
            skill=target.name,
            path=branch.path,
            files=files_of(after),
            subject=draft.subject.replace(": draft, ", ": take the draft, ", 1),
            body=draft.body,
            trailers=(*trailers, (TAKEN, signed)),
            at=now(),
            # A text that training began with and that git lacked lies between the branch and the draft.
            parent=draft.parent if tip is None or repository.contains(draft.parent, tip) else tip,
            expected_tip=tip,
        )
        commit = repository.commit_version(new)
        branch.remove()
    texts = (before.document.text, after.document.text)
    remarks = (*(finding.message for finding in lint_change(*texts)), *map(str, find_marks(*texts)))
    recorded = bool(recorded_versions(project.root, [draft]))
    grading = read_grading(draft.trailers)
    return Taken(target.name, f"skillopt/{target.name}", commit, signed, grading, remarks, recorded)
