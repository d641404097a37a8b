"""The accepted versions of skills that the MCP server offers, read from git.

Nothing here looks at the work tree, except for where skillopt.toml says that a skill lies.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock

from skillopt.errors import RepositoryError, SkillError, UsageError
from skillopt.project import CONFIG, FoundSkill, Project, Selection
from skillopt.skills.folder import MAX_SKILL_BYTES, SKILL_FILE, files_of, skill_from_files
from skillopt.skills.frontmatter import Fields, Value, read_frontmatter
from skillopt.tasks import File
from skillopt.versions.commit_message import Version
from skillopt.versions.decisions import Decisions
from skillopt.versions.draft_branch import DRAFT_BRANCHES
from skillopt.versions.revisions import find_skill_folder
from skillopt.versions.snapshot import Snapshot, snapshot_of

__all__ = [
    "Overview",
    "ServedFile",
    "ServedSkill",
    "SkillRow",
    "branch_tips",
    "overview",
    "selection_of",
    "served_page",
    "served_skill",
    "served_skills",
    "waiting_draft",
]

_SHORTEST = 7  # characters of a commit that name it
_KEPT_BYTES = 64 * 1024 * 1024  # of files of newest versions that are kept in memory
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
        declined: Commits of those that people declined.
        problem: Why its newest version is not served, empty when it is or there is none.
    """

    name: str
    path: str
    suite: str
    versions: tuple[Version, ...]
    declined: frozenset[str]
    problem: str

    @property
    def newest(self) -> Version | None:
        """Give the newest version that is served."""
        return Decisions(self.versions).newest_served or next(iter(self.versions), None)


@dataclass(frozen=True, slots=True)
class Overview:
    """The skills of a project, and what is missing for a first run.

    Args:
        repository: Whether there is a git repository.
        configured: Whether skillopt.toml names a skill.
        skills: All skills that are configured, lie in the work tree, or have a branch.
    """

    repository: bool
    configured: bool
    skills: tuple[SkillRow, ...]


def branch_tips(folder: Path) -> Mapping[str, str]:
    """Give the newest commit of every skill's branch; none where there is no repository."""
    try:
        return snapshot_of(folder).tips
    except RepositoryError:
        return {}


def served_skills(folder: Path) -> tuple[ServedSkill, ...]:
    """List the newest accepted version of every skill that can be served, sorted by name."""
    return served_page(folder)[0]


def served_page(folder: Path, after: str = "", most: int | None = None) -> tuple[tuple[ServedSkill, ...], str | None]:
    """List one page of the newest accepted versions, sorted by name.

    Args:
        folder: A folder of the project.
        after: The name that the page before ended with.
        most: How many branches a page has; None for all.

    Returns:
        The skills that can be served, and the name that the page ends with when another one follows.
    """
    try:
        catalogue = _catalogue_of(folder)
    except RepositoryError:
        return (), None
    names = sorted(name for name in catalogue.tips if name > after)
    shown = names[:most]
    skills = tuple(skill for name in shown if (skill := _try_newest(catalogue, name)))
    return skills, shown[-1] if len(names) > len(shown) else None


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
    catalogue = _catalogue_of(folder)
    return catalogue.newest(name) if version is None else catalogue.version(name, version)


def waiting_draft(folder: Path, name: str) -> ServedSkill:
    """Read the draft of a skill, which is not accepted: a tool may show it, but it is served as no resource.

    Args:
        folder: A folder of the project.
        name: The skill's name.

    Raises:
        UsageError: There is none.
        SkillError: It cannot be shown, as above.
    """
    return _catalogue_of(folder).draft(name)


def selection_of(folder: Path, name: str) -> Selection:
    """Find a skill of a project by its name alone; a path is not a name.

    Raises:
        UsageError: There is no such skill.
    """
    project = Project.find(folder)
    paths = {known: path for path, known in project.skill_names().items()}
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
    try:
        catalogue = _catalogue_of(folder)
    except RepositoryError:
        catalogue = None
    found = {skill.name: skill for skill in project.discover().skills}
    names = sorted({*found, *(catalogue.tips if catalogue else ())})
    rows = tuple(_row(found.get(name) or FoundSkill(name, "", ""), catalogue) for name in names)
    return Overview(catalogue is not None, bool(project.entries), rows)


class _Catalogue:
    """What is served of one snapshot and one skillopt.toml. Threads may share it.

    Args:
        snapshot: The repository and its branch tips.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._repository = snapshot.repository
        self.tips = snapshot.tips
        self._kept: dict[str, ServedSkill] = {}
        self._left = _KEPT_BYTES
        self._lock = Lock()

    def newest(self, name: str) -> ServedSkill:
        """Read the newest version that people have not declined, once as long as all that is kept is not too large."""
        kept = self._kept.get(name)
        if kept is None:
            versions = self.versions(name)
            served = Decisions(versions).newest_served if versions else None
            found = versions[:1] if served is None else (served,)
            kept = self._read(name, _only(name, found, None))
            size = sum(len(file.content) for file in kept.files)
            with self._lock:
                if name not in self._kept and size <= self._left:
                    self._kept[name] = kept
                    self._left -= size
        return kept

    def version(self, name: str, wanted: str) -> ServedSkill:
        """Read an accepted version by the start of its commit; no other commit of the repository can be named."""
        named = (version for version in self.versions(name) if len(wanted) >= _SHORTEST)
        return self._read(name, _only(name, [version for version in named if version.sha.startswith(wanted)], wanted))

    def draft(self, name: str) -> ServedSkill:
        """Read the draft of a skill, which may be replaced while no branch of versions moves."""
        tip = self._repository.ref_tip(f"{DRAFT_BRANCHES}{name}") if name.isascii() and name.isprintable() else None
        if tip is None:
            raise UsageError(f"skill {name!r}: expected a draft, found none; see `skillopt log`")
        return self._read(name, self._repository.commit(tip))

    def versions(self, name: str) -> tuple[Version, ...]:
        """List the accepted versions of a skill, newest first."""
        return self._repository.versions(name, self.tips.get(name))

    def _read(self, name: str, version: Version) -> ServedSkill:
        sought = []
        for place in self._places(name, version.sha):
            files = self._repository.read_folder(version.sha, place)
            if any(file.path == SKILL_FILE for file in files):
                return _checked(name, version, files)
            sought.append(place)
        place = " or ".join(sought) or f"a folder {name}"
        raise SkillError(f"skill {name!r}: expected {SKILL_FILE!r} in {place} of {version.sha[:10]}, found none")

    def _places(self, name: str, commit: str) -> Iterator[str]:
        """Yield where a skill may lie in a commit: where it is now, then where that commit has its name.

        Raises:
            RepositoryError: skillopt.toml says that it lies outside of the repository.
        """
        if name in self._project.entries:
            yield self._repository.relative(self._project.configured_folder(name))
        elif name in self._paths:
            yield self._paths[name]
        if place := find_skill_folder(self._repository, commit, name):
            yield place

    @cached_property
    def _project(self) -> Project:
        return Project.read(self._repository.root)

    @cached_property
    def _paths(self) -> Mapping[str, str]:
        return {name: path for path, name in self._project.skill_names().items()}


def _catalogue_of(folder: Path) -> _Catalogue:
    """Give the catalogue of a project as it is now; a change of any tip or of skillopt.toml makes another one."""
    snapshot = snapshot_of(folder)
    try:
        config = (snapshot.repository.root / CONFIG).read_bytes()
    except OSError:
        config = b""
    return _catalogue(snapshot, config)


@lru_cache(maxsize=1)
def _catalogue(snapshot: Snapshot, _config: bytes) -> _Catalogue:
    return _Catalogue(snapshot)


def _try_newest(catalogue: _Catalogue, name: str) -> ServedSkill | None:
    try:
        return catalogue.newest(name)
    except UsageError:
        return None


def _row(skill: FoundSkill, catalogue: _Catalogue | None) -> SkillRow:
    versions = catalogue.versions(skill.name) if catalogue and skill.name in catalogue.tips else ()
    problem = ""
    if catalogue and versions:
        try:
            catalogue.newest(skill.name)
        except UsageError as error:
            problem = str(error)
    return SkillRow(skill.name, skill.path, skill.suite, versions, Decisions(versions).declined, problem)


def _only(name: str, found: Sequence[Version], wanted: str | None) -> Version:
    """Give the one version that was found."""
    if len(found) == 1:
        return found[0]
    expected = "an accepted version" if wanted is None else f"one accepted version that starts with {_short(wanted)}"
    step = "see `skillopt log`" if wanted else "until training has one accepted, its text is only in the work tree"
    raise UsageError(f"skill {name!r}: expected {expected}, found {len(found) or 'none'}; {step}")


def _checked(name: str, version: Version, files: tuple[File, ...]) -> ServedSkill:
    skill = skill_from_files(name, files)
    shipped = files_of(skill)
    size = sum(len(file.content) for file in shipped)
    if size > MAX_SKILL_BYTES:
        raise SkillError(f"skill {name!r}: expected at most {MAX_SKILL_BYTES} bytes, found {size}; it is not served")
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
