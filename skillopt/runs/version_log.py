"""Versions and draft of a skill: list them, compare two of them, go back to one; with git only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from skillopt.errors import UsageError
from skillopt.gate.grade_words import grade_name, grade_words
from skillopt.gate.grades import Grade, Grading
from skillopt.project import Selection, Target
from skillopt.runs.draft_publication import draft_obstacle, recover_draft
from skillopt.runs.lineage import resolve_version, starting_commit, versions_of
from skillopt.runs.version_message import grade_of, read_grading
from skillopt.safety.text_classes import NEEDS_A_PERSON
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import diff_documents
from skillopt.skills.folder import files_of, is_shipped, skill_from_files
from skillopt.versions.commit_message import DROPPED_BY, ROLLBACK, Version, commit_kind
from skillopt.versions.decisions import Decisions, PersonsWord
from skillopt.versions.draft_branch import DRAFT, DraftBranch
from skillopt.versions.repository import NewVersion, Repository

__all__ = [
    "ComparedVersions",
    "Diffed",
    "DocumentPair",
    "ListedDraft",
    "ListedVersion",
    "ListedVersions",
    "RolledBack",
    "compare_versions",
    "diff_versions",
    "list_versions",
    "pair_documents",
    "roll_back",
    "write_diff",
]

_WORKTREE = "worktree"

DocumentPair = tuple[str, SkillDocument, SkillDocument]
"""A file by its path, as two versions have it."""


@dataclass(frozen=True, slots=True)
class ListedVersion(Version):
    """A version, its grade and what people said of it."""

    kind: str
    grade: Grade | None
    declined: PersonsWord | None

    @property
    def shown(self) -> str:
        """What was shown of it; of what builds on a proven version, against which text. Empty when not known."""
        grading = read_grading(self.trailers)
        return grade_name(grading) if grading else self.grade.value if self.grade else ""


@dataclass(frozen=True, slots=True)
class ListedDraft:
    """The draft of a skill."""

    branch: str
    version: Version
    grading: Grading | None
    obstacle: str
    marks: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What was shown of it."""
        if self.version.trailer(DROPPED_BY):
            return "unproven: people dropped edits of it after it was graded"
        return grade_words(self.grading)


@dataclass(frozen=True, slots=True)
class ListedVersions:
    """The versions of a skill, newest first, and its draft."""

    skill: str
    branch: str
    versions: tuple[ListedVersion, ...]
    draft: ListedDraft | None = None


def list_versions(selection: Selection) -> ListedVersions:
    """List the versions of a skill, newest first, and its draft."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    versions = repository.versions(target.name)
    declined = Decisions(versions).declined_by
    listed = (
        ListedVersion(
            **{field.name: getattr(version, field.name) for field in fields(version)},
            kind=commit_kind(version),
            grade=grade_of(version.trailers),
            declined=declined.get(version.sha),
        )
        for version in versions
    )
    recover_draft(project.root, repository, target.name)
    return ListedVersions(target.name, f"skillopt/{target.name}", tuple(listed), _draft(repository, target))


def _draft(repository: Repository, target: Target) -> ListedDraft | None:
    branch = DraftBranch(repository, target.name, repository.relative(target.folder))
    found = branch.read()
    if found is None:
        return None
    obstacle = draft_obstacle(repository, target, branch, found)
    return ListedDraft(branch.name, found, read_grading(found.trailers), obstacle, found.values(NEEDS_A_PERSON))


@dataclass(frozen=True, slots=True)
class ComparedVersions:
    """Two versions, and each file as both have it."""

    skill: str
    before: str
    after: str
    documents: tuple[DocumentPair, ...]


@dataclass(frozen=True, slots=True)
class Diffed:
    """The difference of two versions of a skill; `text` is a unified diff, empty when they are equal."""

    skill: str
    before: str
    after: str
    text: str


def diff_versions(selection: Selection, before: str | None, after: str | None) -> Diffed:
    """Return the unified diff of two versions; from the first text, or to the newest version, where None."""
    sides = compare_versions(selection, before, after)
    return Diffed(sides.skill, sides.before, sides.after, write_diff(sides.documents))


def write_diff(documents: Sequence[DocumentPair]) -> str:
    """Write the unified diff of files, empty where they are equal."""
    texts = (diff_documents(old, new, path, context=3) for path, old, new in documents)
    return "\n".join(text for text in texts if text)


def pair_documents(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> tuple[DocumentPair, ...]:
    """Pair the files of two versions by path; a file that one lacks is empty there."""
    return tuple(
        (path, SkillDocument.parse(old.get(path, b"")), SkillDocument.parse(new.get(path, b"")))
        for path in sorted(old.keys() | new.keys())
    )


def compare_versions(selection: Selection, before: str | None, after: str | None) -> ComparedVersions:
    """Read two versions of a skill, file by file."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    if DRAFT in (before, after):
        recover_draft(project.root, repository, target.name)
    if before == DRAFT and after is None:
        draft = repository.commit(resolve_version(repository, target, DRAFT))
        before, after = draft.parent, draft.sha
    if before is None or after is None:
        versions = versions_of(repository, target.name)
        before = before or starting_commit(versions)
        after = after or versions[0].sha
    old, new = (_files(repository, target, side) for side in (before, after))
    return ComparedVersions(target.name, before, after, pair_documents(old, new))


def _files(repository: Repository, target: Target, version: str) -> dict[str, bytes]:
    if version == _WORKTREE:
        return {file.path: file.content for file in files_of(target.skill())}
    files = repository.read_folder(resolve_version(repository, target, version), repository.relative(target.folder))
    return {file.path: file.content for file in files if is_shipped(file.path)}


@dataclass(frozen=True, slots=True)
class RolledBack:
    """An older version published as a new commit."""

    skill: str
    branch: str
    version: str
    commit: str


def roll_back(selection: Selection, version: str) -> RolledBack:
    """Publish an older version of a skill as a new commit on its branch; nothing is rewritten."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    skill, path = target.name, repository.relative(target.folder)
    newest = versions_of(repository, skill)[0].sha
    tip, wanted = repository.branch_tip(skill) or newest, repository.resolve(version)
    files = files_of(skill_from_files(skill, repository.read_folder(wanted, path)))
    if files == files_of(skill_from_files(skill, repository.read_folder(tip, path))):
        raise UsageError(f"skillopt/{skill} holds the text of {version!r} already; nothing to roll back")
    new = NewVersion(
        skill=skill,
        path=path,
        files=files,
        subject=f"{skill}: go back to {wanted[:10]}",
        body=f"The skill is again as it was in {wanted}.",
        trailers=(("Skill", skill), (ROLLBACK, wanted)),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        parent=tip,
        expected_tip=tip,
    )
    return RolledBack(skill, f"skillopt/{skill}", wanted, repository.commit_version(new))
