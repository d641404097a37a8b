"""The user action `show`: one version, what it changed and why, edit by edit, with the numbers behind it.

Reads git, and the ledger for what is too long for a commit.
"""

from dataclasses import dataclass

from skillopt.errors import UsageError
from skillopt.project import Selection
from skillopt.runs.draft_publication import recover_draft
from skillopt.runs.lineage import resolve_version
from skillopt.runs.version_record import RecordedVersion, recorded_versions
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, diff_documents
from skillopt.skills.folder import is_shipped
from skillopt.versions.commit_message import Version, commit_kind
from skillopt.versions.decisions import PersonsWord, edits_of, read_decisions
from skillopt.versions.draft_branch import DRAFT
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import find_skill_folder

__all__ = ["ShownVersion", "show"]

_SKILL = "Skill"


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """A version."""

    skill: str
    version: Version
    kind: str
    recorded: RecordedVersion | None
    diff: str
    edits: tuple[Edit, ...]
    declined: PersonsWord | None


def show(selection: Selection, version: str) -> ShownVersion:
    """Show a version of whatever skill it is of."""
    project = selection.project()
    repository = project.repository()
    sha = _draft(selection) if version == DRAFT else repository.resolve(version)
    found = repository.commit(sha)
    skill = found.trailer(_SKILL)
    if not skill:
        message = f"expected a version, found the commit {sha[:10]} that is none; see `skillopt log`"
        raise UsageError(message)
    recorded = recorded_versions(project.root, [found]).get(sha)
    declined = read_decisions(repository, skill).declined_by.get(sha)
    diff = _diff(repository, found, skill)
    return ShownVersion(skill, found, commit_kind(found), recorded, diff, edits_of(found), declined)


def _draft(selection: Selection) -> str:
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    recover_draft(project.root, repository, target.name)
    return resolve_version(repository, target, DRAFT)


def _diff(repository: Repository, version: Version, skill: str) -> str:
    new = _files(repository, version.sha, skill)
    old = _files(repository, version.parent, skill) if version.parent else {}
    parts = (
        diff_documents(
            SkillDocument.parse(old.get(path, b"")), SkillDocument.parse(new.get(path, b"")), path, context=3
        )
        for path in sorted(old.keys() | new.keys())
    )
    return "\n".join(part for part in parts if part)


def _files(repository: Repository, commit: str, skill: str) -> dict[str, bytes]:
    """Read the skill wherever the commit has it."""
    place = find_skill_folder(repository, commit, skill)
    files = repository.read_folder(commit, place) if place else ()
    return {file.path: file.content for file in files if is_shipped(file.path)}
