"""The user actions on versions: `log`, `diff`, `rollback`. They read only git.

`log` alone also asks the configured target who it is, where there is one that can tell.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from skillopt.commands.lineage import starting_commit, trained_on, versions_of
from skillopt.commit_text import Version
from skillopt.documents import SkillDocument
from skillopt.edits import unified
from skillopt.errors import SkilloptError, UsageError
from skillopt.project import Project, Selection, Target
from skillopt.roles import load_target
from skillopt.skill_folder import files_of, ships, skill_from_files
from skillopt.staleness import Staleness, compare_targets
from skillopt.tasks import File
from skillopt.versions import Repository, VersionDraft
from skillopt.word_diff import Hunk, diff_words

__all__ = [
    "Diffed",
    "FileWords",
    "Logged",
    "LoggedVersion",
    "RolledBack",
    "WordDiffed",
    "diff",
    "diff_by_words",
    "log",
    "rollback",
]

_WORKTREE = "worktree"


@dataclass(frozen=True, slots=True)
class LoggedVersion(Version):
    """A version and its target.

    Args:
        harness: Identity of the target it was trained on, empty when its commit does not say.
        staleness: That target compared with the configured one.
    """

    harness: str
    staleness: Staleness


@dataclass(frozen=True, slots=True)
class Logged:
    """The versions of a skill, newest first.

    Args:
        skill: Name of the skill.
        branch: Where they are.
        harness: Identity of the configured target; empty when none is configured or its program cannot tell.
        versions: The versions.
    """

    skill: str
    branch: str
    harness: str
    versions: tuple[LoggedVersion, ...]


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


@dataclass(frozen=True, slots=True)
class RolledBack:
    """An older version published as a new commit."""

    skill: str
    branch: str
    version: str
    commit: str


def log(selection: Selection) -> Logged:
    """List the accepted versions of a skill, newest first.

    Raises:
        UsageError: There is no such skill or no repository.
    """
    target, repository = _open(selection)
    versions, now = repository.versions(target.name), _configured(target, selection.project())
    trained = trained_on(versions)
    listed = (
        LoggedVersion(
            **{field.name: getattr(version, field.name) for field in fields(version)},
            harness=trained[version.sha],
            staleness=compare_targets(trained[version.sha], now),
        )
        for version in versions
    )
    return Logged(target.name, f"skillopt/{target.name}", now, tuple(listed))


def diff(selection: Selection, before: str | None, after: str | None) -> Diffed:
    """Show what changed between two versions of a skill.

    Args:
        selection: The skill.
        before: A version, or `worktree`; None for the text that training started from.
        after: A version, or `worktree`; None for the newest version.

    Raises:
        UsageError: A version does not exist.
    """
    sides = _sides(selection, before, after)
    texts = [unified(old, new, path, context=3) for path, old, new in sides.documents]
    return Diffed(sides.skill, sides.before, sides.after, "\n".join(text for text in texts if text))


def diff_by_words(selection: Selection, before: str | None, after: str | None) -> WordDiffed:
    """Show what changed between two versions of a skill, word by word.

    Args:
        selection: The skill.
        before: A version, or `worktree`; None for the text that training started from.
        after: A version, or `worktree`; None for the newest version.

    Raises:
        UsageError: A version does not exist.
    """
    sides = _sides(selection, before, after)
    files = (FileWords(path, diff_words(old.text, new.text)) for path, old, new in sides.documents)
    return WordDiffed(sides.skill, sides.before, sides.after, tuple(file for file in files if file.hunks))


def rollback(
    selection: Selection,
    version: str,
    *,
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
) -> RolledBack:
    """Publish an older version of a skill as a new commit on its branch; nothing is rewritten.

    Args:
        selection: The skill.
        version: The version to publish again.
        now: Gives the time of the commit.

    Raises:
        UsageError: The version does not exist or is what the branch holds.
        VersionConflictError: The branch moved meanwhile.
    """
    target, repository = _open(selection)
    newest = versions_of(repository, target.name)[0].sha
    tip = repository.branch_tip(target.name) or newest
    wanted = repository.resolve(version)
    path = repository.relative(target.folder)
    files = files_of(skill_from_files(target.name, repository.read_folder(wanted, path)))
    if files == files_of(skill_from_files(target.name, repository.read_folder(tip, path))):
        message = f"skillopt/{target.name} holds the text of {version!r} already; nothing to roll back"
        raise UsageError(message)
    draft = VersionDraft(
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


@dataclass(frozen=True, slots=True)
class _Sides:
    """Two versions, and each file as both have it; a file that one lacks is empty there."""

    skill: str
    before: str
    after: str
    documents: tuple[tuple[str, SkillDocument, SkillDocument], ...]


def _sides(selection: Selection, before: str | None, after: str | None) -> _Sides:
    target, repository = _open(selection)
    if before is None or after is None:
        versions = versions_of(repository, target.name)
        before = before or starting_commit(versions)
        after = after or versions[0].sha
    old, new = (_files(repository, target, side) for side in (before, after))
    paths = sorted({file.path for file in (*old, *new)})
    return _Sides(
        target.name, before, after, tuple((path, _document(old, path), _document(new, path)) for path in paths)
    )


def _open(selection: Selection) -> tuple[Target, Repository]:
    project = selection.project()
    return project.target(selection), project.repository()


def _configured(target: Target, project: Project) -> str:
    """Ask the configured target who it is; the default of a setting that nobody chose claims nothing."""
    if "harness" not in target.settings.model_fields_set:
        return ""
    try:
        return load_target(target.settings, project.root).identity
    except (SkilloptError, OSError):  # its program, its login or a place for its files is missing
        return ""


def _files(repository: Repository, target: Target, version: str) -> tuple[File, ...]:
    if version == _WORKTREE:
        return files_of(target.skill())
    files = repository.read_folder(repository.resolve(version), repository.relative(target.folder))
    return tuple(file for file in files if ships(file.path))


def _document(files: tuple[File, ...], path: str) -> SkillDocument:
    return SkillDocument.parse(next((file.content for file in files if file.path == path), b""))
