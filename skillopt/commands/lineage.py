"""The versions of a skill as a line: where training began, what is newest, what each was trained on.

Owns reading that from the commits of its branch. Does not own git (versions) or the user actions.
"""

from collections.abc import Mapping, Sequence

from skillopt.commit_text import Version, one_line
from skillopt.documents import Skill
from skillopt.errors import UsageError
from skillopt.project import Target
from skillopt.skill_folder import skill_from_files
from skillopt.versions import Repository

__all__ = ["newest_version", "skill_at", "starting_commit", "trained_on", "versions_of"]

_ACCEPTED = "Val-After"
_ROLLBACK = "Rollback-To"


def versions_of(repository: Repository, skill: str) -> tuple[Version, ...]:
    """List the versions of a skill, newest first.

    Raises:
        UsageError: There are none yet.
    """
    versions = repository.versions(skill)
    if not versions:
        message = f"skill {skill!r} has no versions yet; train it with `skillopt optimize {skill}`"
        raise UsageError(message)
    return versions


def starting_commit(versions: Sequence[Version]) -> str:
    """Give the commit with the text that training started from: the parent of the first accepted version.

    Args:
        versions: Of one skill, newest first, at least one.
    """
    oldest = next((version for version in reversed(versions) if version.trailer(_ACCEPTED)), None)
    return versions[-1].sha if oldest is None else oldest.parent or oldest.sha


def newest_version(versions: Sequence[Version]) -> str:
    """Give the newest commit that was accepted or rolled back to; a text that training only starts from is neither.

    Args:
        versions: Of one skill, newest first, at least one.
    """
    published = (version.sha for version in versions if version.trailer(_ACCEPTED) or version.trailer(_ROLLBACK))
    return next(published, versions[0].sha)


def trained_on(versions: Sequence[Version]) -> Mapping[str, str]:
    """Give the identity of the target that each version was trained on, by commit; empty where it is not said.

    Args:
        versions: Of one skill, newest first.
    """
    found: dict[str, str] = {}
    for version in reversed(versions):
        again = found.get(version.trailer(_ROLLBACK), "")
        found[version.sha] = one_line(version.trailer("Harness")) or again
    return found


def skill_at(repository: Repository, target: Target, commit: str) -> Skill:
    """Read a skill as a commit has it.

    Args:
        repository: Where it is.
        target: Names the skill and its folder.
        commit: A version as the user calls it.

    Raises:
        UsageError: There is no such commit, or it has no such skill.
    """
    path = repository.relative(target.folder)
    files = repository.read_folder(repository.resolve(commit), path)
    if not files:
        message = f"version {commit!r} has no {path}/SKILL.md; see `skillopt log`"
        raise UsageError(message)
    return skill_from_files(target.name, files)
