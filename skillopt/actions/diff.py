"""The user action `diff`: compare two versions of a skill, line by line or word by word. Reads git only."""

from dataclasses import dataclass

from skillopt.project import Selection, Target
from skillopt.runs.draft_publication import recover_draft
from skillopt.runs.lineage import resolve_version, starting_commit, versions_of
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import diff_documents
from skillopt.skills.folder import files_of, is_shipped
from skillopt.skills.word_diff import Hunk, diff_words
from skillopt.tasks import File
from skillopt.versions.draft_branch import DRAFT
from skillopt.versions.repository import Repository

__all__ = ["Diffed", "FileWords", "WordDiffed", "diff", "diff_by_words"]

_WORKTREE = "worktree"


@dataclass(frozen=True, slots=True)
class Diffed:
    """The difference of two versions of a skill; `text` is a unified diff, empty when they are equal."""

    skill: str
    before: str
    after: str
    text: str


@dataclass(frozen=True, slots=True)
class FileWords:
    """What changed in one file, word by word."""

    path: str
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class WordDiffed:
    """The difference of two versions of a skill word by word; files that are the same are left out."""

    skill: str
    before: str
    after: str
    files: tuple[FileWords, ...]


def diff(selection: Selection, before: str | None, after: str | None) -> Diffed:
    """Show what changed between two versions of a skill."""
    sides = _sides(selection, before, after)
    texts = [diff_documents(old, new, path, context=3) for path, old, new in sides.documents]
    return Diffed(sides.skill, sides.before, sides.after, "\n".join(text for text in texts if text))


def diff_by_words(selection: Selection, before: str | None, after: str | None) -> WordDiffed:
    """Show what changed between two versions of a skill, word by word."""
    sides = _sides(selection, before, after)
    files = (FileWords(path, diff_words(old.text, new.text)) for path, old, new in sides.documents)
    return WordDiffed(sides.skill, sides.before, sides.after, tuple(file for file in files if file.hunks))


@dataclass(frozen=True, slots=True)
class _Sides:
    """Two versions, and each file as both have it; a file that one lacks is empty there."""

    skill: str
    before: str
    after: str
    documents: tuple[tuple[str, SkillDocument, SkillDocument], ...]


def _sides(selection: Selection, before: str | None, after: str | None) -> _Sides:
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
    paths = sorted({file.path for file in (*old, *new)})
    return _Sides(
        target.name, before, after, tuple((path, _document(old, path), _document(new, path)) for path in paths)
    )


def _files(repository: Repository, target: Target, version: str) -> tuple[File, ...]:
    if version == _WORKTREE:
        return files_of(target.skill())
    commit = resolve_version(repository, target, version)
    files = repository.read_folder(commit, repository.relative(target.folder))
    return tuple(file for file in files if is_shipped(file.path))


def _document(files: tuple[File, ...], path: str) -> SkillDocument:
    return SkillDocument.parse(next((file.content for file in files if file.path == path), b""))
