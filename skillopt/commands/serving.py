"""What the MCP server serves: the accepted versions of skills, as git has them.

Owns which version of which skill may be served and reading it whole. Nothing here looks at the work
tree, except for where skillopt.toml says that a skill lies. Does not own the protocol (skillopt_mcp), or
when git has to be asked again (snapshot).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from skillopt.commands.read_once import ReadOnce
from skillopt.commands.snapshot import Snapshot, configured_folder, snapshot_of
from skillopt.commit_text import Version
from skillopt.errors import RepositoryError, SkillError, UsageError
from skillopt.frontmatter import Fields, Value, read_frontmatter
from skillopt.project import Project, Selection, find_skills
from skillopt.skill_folder import MAX_BYTES, MAX_FILES, SKILL_FILE, files_of, skill_from_files
from skillopt.suites import evals_of
from skillopt.tasks import File
from skillopt.versions import Repository

__all__ = [
    "Overview",
    "ServedFile",
    "ServedSkill",
    "SkillRow",
    "branch_tips",
    "overview",
    "selection_of",
    "served_skill",
    "served_skills",
]

_SHORTEST = 7  # characters of a commit that name it
_KEPT_BYTES = 64 * 1024 * 1024  # of versions that were read
_KEPT_NEWEST = 1024
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file of a served skill: its path in the skill's folder, its bytes and their SHA-256."""

    path: str
    content: bytes
    digest: str


@dataclass(frozen=True, slots=True)
class ServedSkill:
    """An accepted version of a skill.

    Args:
        name: The skill's name, which is also the name of its folder and in its frontmatter.
        version: The commit.
        at: When it was committed, ISO 8601 in UTC.
        description: From the frontmatter.
        frontmatter: All of it, as JSON has it.
        files: Every file that ships, sorted by path, SKILL.md included.
    """

    name: str
    version: str
    at: str
    description: str
    frontmatter: Mapping[str, object]
    files: tuple[ServedFile, ...]

    def file(self, path: str) -> ServedFile | None:
        """Give a file by its path."""
        return next((file for file in self.files if file.path == path), None)


@dataclass(frozen=True, slots=True)
class SkillRow:
    """A skill of a project.

    Args:
        name: Its name.
        path: Its folder in the project, empty when only its branch is known.
        suite: Its suite, empty when it has none.
        versions: Its accepted versions, newest first.
        problem: Why its newest version is not served, empty when it is or there is none.
    """

    name: str
    path: str
    suite: str
    versions: tuple[Version, ...]
    problem: str


@dataclass(frozen=True, slots=True)
class Overview:
    """The skills of a project, and what is missing for a first run.

    Args:
        repository: Whether there is a git repository.
        configured: Whether skillopt.toml names a skill.
        skills: All skills that are configured, found where skills lie by convention, or on a branch.
    """

    repository: bool
    configured: bool
    skills: tuple[SkillRow, ...]


def branch_tips(folder: Path) -> dict[str, str]:
    """Give the newest commit of every skill's branch; none where there is no repository."""
    try:
        return dict(snapshot_of(folder).tips)
    except RepositoryError:
        return {}


def served_skills(folder: Path, names: Sequence[str] | None = None) -> tuple[ServedSkill, ...]:
    """List the newest accepted version of every skill that can be served, sorted by name.

    Args:
        folder: A folder of the project.
        names: Only these skills.
    """
    try:
        snapshot = snapshot_of(folder)
    except RepositoryError:
        return ()
    wanted = sorted(snapshot.tips if names is None else names)
    return tuple(skill for name in wanted if (skill := _try_served(snapshot, name)))


def served_skill(folder: Path, name: str, version: str | None = None) -> ServedSkill:
    """Read an accepted version of a skill.

    Args:
        folder: A folder of the project.
        name: The skill's name.
        version: A commit of the skill's branch, or the start of one; None for the newest.

    Raises:
        UsageError: There is no such version.
        SkillError: It cannot be served: it is over a limit, or its name or description are not as hosts expect.
    """
    return _served(snapshot_of(folder), name, version)


def selection_of(folder: Path, name: str) -> Selection:
    """Find a skill of a project by its name alone; a path is not a name.

    Raises:
        UsageError: There is no such skill.
    """
    project = Project.find(folder)
    paths = _paths(project)
    if name not in paths:
        known = ", ".join(sorted(paths)) or "none"
        message = f"expected the name of a skill, found {_short(name)}; the skills here: {known}"
        raise UsageError(message)
    return Selection(str(project.root / paths[name]), folder=project.root)


def overview(folder: Path) -> Overview:
    """List the skills of a project; that something is missing is part of the answer, not an error.

    Raises:
        SettingsError: skillopt.toml cannot be read.
    """
    project = Project.find(folder)
    tips = branch_tips(folder)
    paths = _paths(project)
    rows = tuple(_row(project, name, paths.get(name, ""), on_branch=name in tips) for name in sorted({*paths, *tips}))
    return Overview(_has_repository(folder), bool(project.entries), rows)


def _try_served(snapshot: Snapshot, name: str) -> ServedSkill | None:
    try:
        return _served(snapshot, name, None)
    except UsageError:
        return None


def _served(snapshot: Snapshot, name: str, wanted: str | None) -> ServedSkill:
    found = _accepted(snapshot, name, wanted)
    places = snapshot.places(name)
    return _read_once.get((name, found.sha, places), lambda: _read(snapshot.repository, name, found, places))


def _row(project: Project, name: str, path: str, *, on_branch: bool) -> SkillRow:
    versions = project.repository().versions(name) if on_branch else ()
    problem = ""
    if versions:
        try:
            served_skill(project.root, name)
        except UsageError as error:
            problem = str(error)
    return SkillRow(name, path, _suite(project, path) if path else "", versions, problem)


def _suite(project: Project, path: str) -> str:
    folder = (project.root / path).resolve()
    entries = project.entries.items()
    configured = (entry.get("suite") for name, entry in entries if configured_folder(project, name) == folder)
    found = next(filter(None, configured), None) or evals_of(folder)
    if not isinstance(found, Path):
        return str(found or "")
    return found.relative_to(folder).as_posix()


def _has_repository(folder: Path) -> bool:
    try:
        Repository.find(folder)
    except RepositoryError:
        return False
    return True


def _paths(project: Project) -> dict[str, str]:
    """Give the folder of every skill that is configured or found in the work tree, by the skill's name."""
    found = {name: path for name, path, _ in reversed(find_skills(project.root))}
    root = project.root.resolve()
    for name in project.entries:
        folder = configured_folder(project, name)
        if folder.is_relative_to(root):
            found[folder.name] = folder.relative_to(root).as_posix()
    return found


def _accepted(snapshot: Snapshot, name: str, wanted: str | None) -> Version:
    """Find an accepted version; no other commit of the repository can be named."""
    tip = snapshot.tips.get(name)
    if wanted is None and tip:
        newest = _newest(snapshot.repository, name, tip)
        found = [newest] if newest else []
    else:
        every = snapshot.repository.versions(name, tip)
        named = (version for version in every if len(wanted or "") >= _SHORTEST)
        found = [version for version in named if version.sha.startswith(wanted or "")]
    if len(found) == 1:
        return found[0]
    expected = "an accepted version" if wanted is None else f"one accepted version that starts with {_short(wanted)}"
    step = "see `skillopt log`" if wanted else "until training has one accepted, its text is only in the work tree"
    raise UsageError(f"skill {name!r}: expected {expected}, found {len(found) or 'none'}; {step}")


@lru_cache(_KEPT_NEWEST)
def _newest(repository: Repository, name: str, tip: str) -> Version | None:
    """Find the newest version on a branch by its tip, whose past never changes."""
    return next(iter(repository.versions(name, tip)), None)


def _size(skill: ServedSkill) -> int:
    return sum(len(file.content) for file in skill.files)


_read_once = ReadOnce[ServedSkill](_KEPT_BYTES, _size)


def _read(repository: Repository, name: str, version: Version, places: tuple[str, ...]) -> ServedSkill:
    for place in places:
        files = repository.read_folder(version.sha, place)
        if any(file.path == SKILL_FILE for file in files):
            return _checked(name, version, files)
    sought = " or ".join(places)
    raise SkillError(f"skill {name!r}: expected {SKILL_FILE!r} in {sought} of {version.sha[:10]}, found none")


def _checked(name: str, version: Version, files: tuple[File, ...]) -> ServedSkill:
    skill = skill_from_files(name, files)
    shipped = files_of(skill)
    size = sum(len(file.content) for file in shipped)
    if len(shipped) > MAX_FILES or size > MAX_BYTES:
        limit = f"at most {MAX_FILES} files of {MAX_BYTES} bytes together"
        raise SkillError(f"skill {name!r}: expected {limit}, found {len(shipped)} of {size}; it is not served")
    frontmatter = read_frontmatter(skill.document)
    if frontmatter is None or frontmatter.name != name or not frontmatter.description:
        raise SkillError(f"skill {name!r}: expected frontmatter with that name and a description; it is not served")
    fields = _mapping(frontmatter.fields)
    try:
        json.dumps(fields, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except ValueError as error:
        raise SkillError(f"skill {name!r}: expected frontmatter that JSON can hold; it is not served") from error
    served = (ServedFile(file.path, file.content, f"sha256:{sha256(file.content).hexdigest()}") for file in shipped)
    return ServedSkill(name, version.sha, version.at, frontmatter.description, fields, tuple(served))


def _mapping(fields: Fields) -> dict[str, object]:
    return {field.name: _plain(field.value) for field in fields.items}


def _plain(value: Value) -> object:
    if isinstance(value, Fields):
        return _mapping(value)
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _short(text: str) -> str:
    """Quote what a client sent, cut where it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
