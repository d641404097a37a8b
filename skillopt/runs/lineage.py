"""Lineage of a skill's versions: where training began, which is newest, the target that each was trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.errors import SkillError, UsageError
from skillopt.project import Target
from skillopt.skills.document import Skill
from skillopt.skills.folder import skill_from_files
from skillopt.versions.commit_message import ROLLBACK, Version, commit_kind, single_line
from skillopt.versions.decisions import Decisions
from skillopt.versions.draft_branch import DRAFT, DraftBranch
from skillopt.versions.repository import Repository

__all__ = [
    "TextState",
    "newest_version",
    "resolve_version",
    "skill_at",
    "starting_commit",
    "texts_of",
    "trained_on",
    "versions_of",
]


def versions_of(repository: Repository, skill: str) -> tuple[Version, ...]:
    """List the versions of a skill, newest first."""
    versions = repository.versions(skill)
    if not versions:
        message = f"skill {skill!r} has no versions yet; train it with `skillopt optimize {skill}`"
        raise UsageError(message)
    return versions


def starting_commit(versions: Sequence[Version]) -> str:
    """Return the commit with the text that training started from: the parent of the first accepted or taken version.

    Where people declined what was trained, or changed the default branch's text beside it, it is the commit from
    which training then started anew.
    """
    for version in versions:
        kind = commit_kind(version)
        if kind == "undeclined":
            break
        if kind == "declined" or (kind == "start" and version.merged):
            return version.sha
    oldest = next((one for one in reversed(versions) if commit_kind(one) in ("accepted", "taken")), None)
    return versions[-1].sha if oldest is None else oldest.parent or oldest.sha


def newest_version(versions: Sequence[Version]) -> str:
    """Return the newest commit that was accepted, taken or rolled back to and not declined, or of such a decision.

    Where training starts is no such commit.
    """
    served = Decisions(tuple(versions)).newest_served
    return versions[0].sha if served is None else served.sha


def trained_on(versions: Sequence[Version]) -> Mapping[str, str]:
    """Return the identity of the target that each version was trained on, by commit; empty where it is unknown."""
    found: dict[str, str] = {}
    for version in reversed(versions):
        again = found.get(version.trailer(ROLLBACK), "")
        found[version.sha] = single_line(version.trailer("Harness")) or again
    return found


def resolve_version(repository: Repository, target: Target, text: str) -> str:
    """Return the commit that a user means by the name of a version, which may be `draft`."""
    if text != DRAFT:
        return repository.resolve(text)
    tip = DraftBranch(repository, target.name, repository.relative(target.folder)).tip
    if tip is None:
        raise UsageError(
            f"skill {target.name!r} has no draft; list_skills with its name lists what there is, and so does "
            f"`skillopt log {target.name}`"
        )
    return tip


def skill_at(repository: Repository, target: Target, commit: str) -> Skill:
    """Read a skill as a commit has it."""
    path = repository.relative(target.folder)
    files = repository.read_folder(resolve_version(repository, target, commit), path)
    if not files:
        message = f"version {commit!r} has no {path}/SKILL.md; see `skillopt log`"
        raise UsageError(message)
    return skill_from_files(target.name, files)


@dataclass(frozen=True, slots=True)
class TextState:
    """A text that a skill had."""

    commit: str
    version: Version | None
    skill: Skill


def texts_of(repository: Repository, target: Target) -> tuple[TextState, ...]:
    """List the texts that a skill had on its branch, oldest first, those that people committed in between included."""
    states: list[TextState] = []
    path = repository.relative(target.folder)
    for version in reversed(versions_of(repository, target.name)):
        before = _text_at(repository, target.name, version.parent, path) if version.parent else None
        if before is not None and (not states or states[-1].skill.digest != before.digest):
            states.append(TextState(version.parent, None, before))
        text = _text_at(repository, target.name, version.sha, path)
        if text is not None:
            states.append(TextState(version.sha, version, text))
    return tuple(states)


def _text_at(repository: Repository, name: str, commit: str, path: str) -> Skill | None:
    """Read a skill as a commit has it, None where it has none that can be read."""
    try:
        return skill_from_files(name, repository.read_folder(commit, path))
    except SkillError:
        return None
