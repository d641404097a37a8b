"""The user action `rollback`: publish an older version of a skill as a new commit. Uses git only."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from skillopt.errors import UsageError
from skillopt.project import Selection
from skillopt.runs.lineage import versions_of
from skillopt.skills.folder import files_of, skill_from_files
from skillopt.versions.repository import NewVersion

__all__ = ["RolledBack", "rollback"]


@dataclass(frozen=True, slots=True)
class RolledBack:
    """An older version published as a new commit."""

    skill: str
    branch: str
    version: str
    commit: str


def rollback(
    selection: Selection,
    version: str,
    *,
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
) -> RolledBack:
    """Publish an older version of a skill as a new commit on its branch; nothing is rewritten."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    newest = versions_of(repository, target.name)[0].sha
    tip = repository.branch_tip(target.name) or newest
    wanted = repository.resolve(version)
    path = repository.relative(target.folder)
    files = files_of(skill_from_files(target.name, repository.read_folder(wanted, path)))
    if files == files_of(skill_from_files(target.name, repository.read_folder(tip, path))):
        message = f"skillopt/{target.name} holds the text of {version!r} already; nothing to roll back"
        raise UsageError(message)
    draft = NewVersion(
        skill=target.name,
        path=path,
        files=files,
        subject=f"{target.name}: go back to {wanted[:10]}",
        body=f"The skill is again as it was in {wanted}.",
        trailers=(("Skill", target.name), ("Rollback-To", wanted)),
        at=now(),
        parent=tip,
        expected_tip=tip,
    )
    return RolledBack(target.name, f"skillopt/{target.name}", wanted, repository.commit_version(draft))
