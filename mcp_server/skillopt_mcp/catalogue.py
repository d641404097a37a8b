"""What the MCP server serves: accepted versions of skills, and committed texts of those that were not trained.

Nothing here looks at the work tree, except for what skills are called there and where skillopt.toml says that they lie.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final
from urllib.parse import quote

from skillopt.errors import RepositoryError, SettingsError, SkillError, UsageError
from skillopt.project import CONFIG, Project
from skillopt.skills.discovery import name_skills
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import MAX_SKILL_BYTES, SKILL_FILE, files_of, is_left_out, is_shipped, skill_from_files
from skillopt.skills.frontmatter import Fields, Frontmatter, Value, read_frontmatter, read_leniently
from skillopt.tasks import File
from skillopt.versions.commit_message import Version
from skillopt.versions.decisions import Decisions
from skillopt.versions.draft_branch import DRAFT_BRANCHES
from skillopt.versions.objects import FolderAt, list_folders, read_found, read_objects
from skillopt.versions.repository import Repository, read_histories
from skillopt.versions.revisions import find_skill_folder
from skillopt.versions.snapshot import Snapshot, snapshot_of

__all__ = [
    "Address",
    "Catalogue",
    "ServedFile",
    "ServedSkill",
    "accepted_version",
    "catalogue_at",
    "catalogue_of",
    "make_served",
    "read_address",
    "read_head",
    "served_page",
    "served_skill",
    "served_skills",
    "short",
    "skill_address",
    "unknown_skill",
    "waiting_draft",
]

_SHOWN: Final = 80
_FEW: Final = 8
_LONGEST: Final = 64


def unknown_skill(name: str, known: Iterable[str]) -> str:
    """Say that there is no skill of a name, and which come near."""
    names = sorted(known)
    near = get_close_matches(name[:_LONGEST], names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"the skills here: {_few(names)}"
    return f"expected the name of a skill, found {short(name)}; {hint}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"{', '.join(names[:_FEW])}{more}" if names else "none"


def short(text: str) -> str:
    """Quote what a client sent, cut where it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


_NAME = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_URI = re.compile(
    rf"skill://(?:_versions/(?P<version>[0-9a-f]{{7,64}})/)?(?P<name>{_NAME})(?:/(?P<path>.+))?", re.ASCII
)
_LONGEST_URI = 4096


@dataclass(frozen=True, slots=True)
class Address:
    """What a URI names."""

    skill: str
    version: str | None = None
    path: str = ""

    def __str__(self) -> str:
        """Write the URI."""
        root = f"skill://_versions/{self.version}/{self.skill}" if self.version else f"skill://{self.skill}"
        return f"{root}/{self.path}" if self.path else root


def skill_address(skill: str, path: str, version: str | None = None) -> Address:
    """Address a file or folder of a skill by its path as git has it."""
    return Address(skill, version, _quoted(path))


@lru_cache(maxsize=4096)  # a listing names the same files again and again
def _quoted(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"), safe="/-._~")


def read_address(uri: str) -> Address | None:
    """Read a URI; None when no skill could have it."""
    found = _URI.fullmatch(uri) if len(uri) <= _LONGEST_URI else None
    return Address(found["name"], found["version"], found["path"] or "") if found else None


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file of a served skill: its path in the skill's folder, its bytes and their SHA-256."""

    path: str
    content: bytes
    digest: str


@dataclass(frozen=True, slots=True)
class ServedSkill:
    """An accepted version of a skill, or its committed text before there is one."""

    name: str
    version: str
    trained: bool
    at: str
    description: str
    frontmatter: Mapping[str, object]
    files: tuple[ServedFile, ...]
    problem: str

    def file(self, path: str) -> ServedFile | None:
        """Return a file by its path."""
        return next((file for file in self.files if file.path == path), None)


def make_served(name: str, commit: str, at: str, files: tuple[File, ...]) -> ServedSkill:
    """Make a served skill of the files of its folder."""
    skill = skill_from_files(name, files)
    shipped = files_of(skill)
    size = sum(len(file.content) for file in shipped)
    if size > MAX_SKILL_BYTES:
        raise SkillError(f"skill {name!r}: expected at most {MAX_SKILL_BYTES} bytes, found {size}; it is not served")
    frontmatter, problem = read_head(name, skill.document)
    fields = _mapping(frontmatter.fields) if frontmatter else {}
    if not _fits_json(fields):
        frontmatter, fields, problem = None, {}, "expected frontmatter that JSON can hold"
    served = (ServedFile(file.path, file.content, f"sha256:{sha256(file.content).hexdigest()}") for file in shipped)
    about = (frontmatter.description if frontmatter else None) or ""
    return ServedSkill(name, commit, bool(at), at, about, fields, tuple(served), problem)


def read_head(name: str, document: SkillDocument) -> tuple[Frontmatter | None, str]:
    """Read the frontmatter of a skill, and say why hosts do not take it for the skill of a name, empty when they do."""
    try:
        found = read_frontmatter(document)
    except SkillError as error:
        return None, str(error)
    if found is None or not found.name or not found.description:
        return found, "expected frontmatter with a name and a description"
    return found, "" if found.name == name else f"its frontmatter names it {found.name[:64]!r}"


def _fits_json(fields: Mapping[str, object]) -> bool:
    try:
        json.dumps(fields, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except ValueError:
        return False
    return True


def _mapping(fields: Fields) -> dict[str, object]:
    return {field.name: _plain(field.value) for field in fields.items}


def _plain(value: Value) -> object:
    if isinstance(value, Fields):
        return _mapping(value)
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


_SHORTEST = 7  # characters of a commit that name it
_KEPT_BYTES = 64 * 1024 * 1024  # of files of newest versions that are kept in memory
_TOGETHER = 50  # skills whose files are read with the same processes


def served_skills(folder: Path) -> tuple[ServedSkill, ...]:
    """List the served text of every skill that can be served, sorted by name."""
    return served_page(folder)[0]


def served_page(folder: Path, first: str = "", most: int | None = None) -> tuple[tuple[ServedSkill, ...], str | None]:
    """List one page of the served texts, sorted by name."""
    try:
        catalogue = catalogue_of(folder)
        names = [name for name in catalogue.names if name >= first]
    except (RepositoryError, SettingsError):
        return (), None
    shown = names if most is None else names[:most]
    found = catalogue.newest_of(shown)
    skills = tuple(skill for name in shown if isinstance(skill := found[name], ServedSkill))
    return skills, names[len(shown)] if len(names) > len(shown) else None


def served_skill(folder: Path, name: str, version: str | None = None) -> ServedSkill:
    """Read a skill as it is served."""
    catalogue = catalogue_of(folder)
    return catalogue.newest(name) if version is None else catalogue.version(name, version)


def accepted_version(folder: Path, name: str, wanted: str) -> str:
    """Return the commit of an accepted version by its start."""
    return catalogue_of(folder).accepted(name, wanted).sha


def waiting_draft(folder: Path, name: str) -> ServedSkill:
    """Read the draft of a skill, which is not accepted: a tool may show it, but it is served as no resource."""
    return catalogue_of(folder).draft(name)


class Catalogue:
    """What is served of one snapshot and one skillopt.toml. Threads may share it."""

    def __init__(self, snapshot: Snapshot, config: bytes, before: "Catalogue | None" = None) -> None:
        self.repository = snapshot.repository
        self.tips = snapshot.tips
        self.default, self.branch = snapshot.default, snapshot.branch
        self._config = config
        self._histories: dict[str, tuple[Version, ...]] = {}
        self._kept: dict[str, ServedSkill] = {}
        self._left = _KEPT_BYTES
        self._seen: tuple[int, Mapping[str, str]] | None = None
        self._lock = Lock()
        if before is not None:
            histories, skills = before.unchanged(self.repository, config, self.tips)
            self._histories.update(histories)
            for skill in skills:
                self._keep(skill)

    def unchanged(
        self, repository: Repository, config: bytes, tips: Mapping[str, str]
    ) -> tuple[Mapping[str, tuple[Version, ...]], tuple[ServedSkill, ...]]:
        """Return the histories and texts of trained skills that hold for other tips, too."""
        if (self.repository, self._config) != (repository, config):
            return {}, ()
        same = {name for name, tip in tips.items() if self.tips.get(name) == tip}
        histories = {name: found for name, found in dict(self._histories).items() if name in same}
        return histories, tuple(skill for skill in dict(self._kept).values() if skill.trained and skill.name in same)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all skills that are trained or committed, sorted."""
        return tuple(sorted({*self.tips, *self.committed}))

    @cached_property
    def committed(self) -> Mapping[str, str]:
        """The folder of every skill on the default branch by its name, which is the work tree's where it has one."""
        texts = [path for path in self._files if path == SKILL_FILE or path.endswith(f"/{SKILL_FILE}")]
        folders = [path.rpartition("/")[0] or "." for path in texts if not is_left_out(path)]
        here = {path: name for name, path in self._paths.items()}
        spelled = name_skills(folders, self._root_name() if "." in folders else "", self._configured)
        taken = {here[folder] for folder in folders if folder in here}
        found = {here[folder]: folder for folder in folders if folder in here}
        return found | {
            spelled[folder]: folder for folder in folders if folder not in here and spelled[folder] not in taken
        }

    def newest(self, name: str) -> ServedSkill:
        """Return the text of a skill that is served."""
        found = self.newest_of((name,))[name]
        if isinstance(found, UsageError):
            raise found
        return found

    def newest_of(self, names: Sequence[str]) -> dict[str, ServedSkill | UsageError]:
        """Return the texts of skills that are served, or why they are not."""
        found: dict[str, ServedSkill | UsageError] = {name: self._kept[name] for name in names if name in self._kept}
        missing = [name for name in names if name not in found]
        for at in range(0, len(missing), _TOGETHER):
            for name, skill in self._read_newest(missing[at : at + _TOGETHER]).items():
                found[name] = skill
                if isinstance(skill, ServedSkill):
                    self._keep(skill)
        return found

    def version(self, name: str, wanted: str) -> ServedSkill:
        """Read an accepted version, or the text at a commit of the default branch, by the start of the commit."""
        try:
            accepted = self.accepted(name, wanted)
        except UsageError:
            commit = self._published(wanted)
            if commit is None:
                raise
            return self._read(name, commit, "")
        return self._read(name, accepted.sha, accepted.at)

    def accepted(self, name: str, wanted: str) -> Version:
        """Return an accepted version by the start of its commit."""
        named = (version for version in self.versions(name) if len(wanted) >= _SHORTEST)
        found = [version for version in named if version.sha.startswith(wanted)]
        if len(found) != 1:
            expected = f"one accepted version that starts with {short(wanted)}"
            message = f"skill {name!r}: expected {expected}, found {len(found) or 'none'}; list_skills with its name"
            raise UsageError(f"{message} lists them")
        return found[0]

    def draft(self, name: str) -> ServedSkill:
        """Read the draft of a skill, which may be replaced while no branch of versions moves."""
        tip = self.repository.ref_tip(f"{DRAFT_BRANCHES}{name}") if name.isascii() and name.isprintable() else None
        if tip is None:
            raise UsageError(f"skill {name!r}: expected a draft, found none; see `skillopt log`")
        return self._read(name, tip, self.repository.commit(tip).at)

    def versions(self, name: str) -> tuple[Version, ...]:
        """List the accepted versions of a skill, newest first."""
        return self.histories((name,))[name]

    def histories(self, names: Iterable[str]) -> Mapping[str, tuple[Version, ...]]:
        """List the accepted versions of skills, newest first."""
        wanted = tuple(names)
        missing = {name: self.tips[name] for name in wanted if name in self.tips and name not in self._histories}
        self._histories.update(read_histories(self.repository.root, missing))
        return {name: self._histories.get(name, ()) for name in wanted}

    def chosen(self, name: str) -> Version | None:
        """Return the version of a skill that is served; None where that is the text on the default branch, or nothing.

        Of a branch that holds no accepted version, such as after renaming a skill, its newest commit is served where
        the default branch does not have the skill.
        """
        versions = self.versions(name)
        found = Decisions(versions).newest_served if versions else None
        if found is None and versions and name not in self.committed:
            return versions[0]
        return found

    def _place_of(self, name: str) -> dict[str, FolderAt]:
        """Return where the served text of a skill is likely to lie, by its name; nothing for one without."""
        if version := self.chosen(name):
            return {name: FolderAt(version.sha, self._place(name) or self.committed.get(name, ""))}
        return {name: FolderAt(self.default, self.committed[name])} if name in self.committed else {}

    def _read_newest(self, names: Sequence[str]) -> dict[str, ServedSkill | UsageError]:
        """Read the served texts of skills with few processes."""
        self.histories(names)
        found: dict[str, ServedSkill | UsageError] = {}
        places: dict[str, FolderAt] = {}
        for name in names:
            try:
                places |= self._place_of(name)
            except UsageError as error:
                found[name] = error
        files = self._files_of(places)
        for name in names:
            if name in found:
                continue
            try:
                found[name] = self._served(name, files.get(name, ()), places.get(name))
            except UsageError as error:
                found[name] = error
        return found

    def _served(self, name: str, files: tuple[File, ...], place: FolderAt | None) -> ServedSkill:
        if place is None:
            raise UsageError(self._nothing(name))
        version = self.chosen(name)
        at = version.at if version else ""
        if any(file.path == SKILL_FILE for file in files):
            return make_served(name, place.commit, at, files)
        return self._read(name, place.commit, at)

    def _files_of(self, places: Mapping[str, FolderAt]) -> dict[str, tuple[File, ...]]:
        """Read the files of folders; those with links one by one, as they have to be followed."""
        root, names = self.repository.root, [name for name, place in places.items() if place.path]
        listed = dict(zip(names, list_folders(root, [places[name] for name in names], is_shipped), strict=True))
        shas = list(dict.fromkeys(sha for files in listed.values() for sha in (files or {}).values()))
        contents = dict(zip(shas, read_objects(root, shas), strict=True))
        return {
            name: self.repository.read_folder(places[name].commit, places[name].path)
            if files is None
            else tuple(File(path, contents[sha]) for path, sha in sorted(files.items()))
            for name, files in listed.items()
        }

    def _read(self, name: str, commit: str, at: str) -> ServedSkill:
        """Read a skill at a commit: where it is now, else where that commit has its name."""
        sought = [place for place in (self._place(name), self.committed.get(name, "")) if place]
        for place in dict.fromkeys(sought):
            files = self.repository.read_folder(commit, place)
            if any(file.path == SKILL_FILE for file in files):
                return make_served(name, commit, at, files)
        if elsewhere := find_skill_folder(self.repository, commit, name):
            return make_served(name, commit, at, self.repository.read_folder(commit, elsewhere))
        place = " or ".join(dict.fromkeys(sought)) or f"a folder {name}"
        raise SkillError(f"skill {name!r}: expected {SKILL_FILE!r} in {place} of {commit[:10]}, found none")

    @cached_property
    def _configured(self) -> Mapping[str, str]:
        """The name of every configured skill by its folder in the repository."""
        return {path: name for name, path in self.project.configured_paths().items() if path}

    def _place(self, name: str) -> str:
        """Return where a skill lies now, empty where it is not known."""
        if name in self.project.entries:
            return self.repository.relative(self.project.configured_folder(name))
        return self._paths.get(name, "")

    def _published(self, wanted: str) -> str | None:
        """Return a commit of the default branch by its start; None for none."""
        if not self.default or len(wanted) < _SHORTEST or set(wanted) - set("0123456789abcdef"):
            return None
        commit = self.repository.ref_tip(wanted)
        return commit if commit and self.repository.contains(self.default, commit) else None

    def _nothing(self, name: str) -> str:
        """Return why there is nothing to serve."""
        if name in self._paths:
            place = self._paths[name]
            to = f" to branch {self.branch}" if self.branch else ""
            return f"skill {name!r}: {place} is not committed{to}, and only what is committed is served"
        return unknown_skill(name, {*self.names, *self._paths})

    def _keep(self, skill: ServedSkill) -> None:
        size = sum(len(file.content) for file in skill.files)
        with self._lock:
            if skill.name not in self._kept and size <= self._left:
                self._kept[skill.name] = skill
                self._left -= size

    @cached_property
    def _files(self) -> list[str]:
        """List the regular files of the default branch."""
        rows = self.repository.tree(self.default, "") if self.default else []
        return [path for mode, _, path in rows if mode.startswith("100")]

    def _root_name(self) -> str:
        """Name the skill at the root as it names itself."""
        (text,) = read_found(self.repository.root, [f"{self.default}:{SKILL_FILE}"], "blob")
        named = read_leniently(SkillDocument.parse(text or b"")).name
        return named or self.repository.root.name

    @cached_property
    def project(self) -> Project:
        """The project, with its skillopt.toml as the catalogue has it."""
        return Project.read(self.repository.root)

    def paths_at(self, moment: int) -> Mapping[str, str]:
        """Return the folder of every skill of the work tree by its name, as it was at a moment."""
        if self._seen is None or self._seen[0] != moment:
            self._seen = moment, {name: path for path, name in self.project.skill_names().items()}
        return self._seen[1]

    @property
    def _paths(self) -> Mapping[str, str]:
        """The same as it was seen last."""
        return self._seen[1] if self._seen else self.paths_at(0)


def catalogue_of(folder: Path) -> Catalogue:
    """Return the catalogue of a project as it is now; a change of any tip or of skillopt.toml makes another one."""
    return catalogue_at(snapshot_of(folder))


def catalogue_at(snapshot: Snapshot) -> Catalogue:
    """Return the catalogue of a snapshot."""
    try:
        config = (snapshot.repository.root / CONFIG).read_bytes()
    except OSError:
        config = b""
    return _catalogue(snapshot, config)


_newest: list[Catalogue] = []


@lru_cache(maxsize=2)
def _catalogue(snapshot: Snapshot, config: bytes) -> Catalogue:
    made = Catalogue(snapshot, config, _newest[0] if _newest else None)
    _newest[:] = [made]
    return made
