"""What the MCP server serves: accepted versions of skills, and committed texts of those that were not trained.

Nothing here looks at the work tree, except for what skills are called there and where skillopt.toml says that they lie.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

from skillopt.errors import RepositoryError, SettingsError, SkillError, UsageError
from skillopt.project import Project
from skillopt.skills.discovery import name_skills, skill_name
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import MAX_SKILL_BYTES, SKILL_FILE, is_fixture, is_left_out, skill_from_files
from skillopt.skills.frontmatter import read_frontmatter, read_leniently
from skillopt.tasks import File
from skillopt.versions.branches import DRAFT_BRANCHES, Snapshot, snapshot_of
from skillopt.versions.commit_message import Version, commit_kind
from skillopt.versions.decisions import Decisions
from skillopt.versions.objects import list_folders, read_found, read_objects
from skillopt.versions.repository import Repository, read_histories
from skillopt.versions.revisions import find_skill_folder

_SHOWN: Final = 80  # characters of what a client sent: a line
_FEW: Final = 8  # names of skills: a line
_LONGEST: Final = 64  # characters of a name, by the specification of skills


def unknown_skill(name: str, known: Iterable[str]) -> str:
    """Say that there is no skill of a name, and which come near."""
    names = sorted(known)
    if (spelled := skill_name(name[:_LONGEST])) != name and spelled in names:
        return f"skill {short(name)} is {spelled!r} here: names have lower-case letters, digits and hyphens only"
    near = get_close_matches(name[:_LONGEST], names, n=3, cutoff=0.5)
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    listed = f"the skills here: {', '.join(names[:_FEW]) or 'none'}{more}"
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else listed
    return f"expected the name of a skill, found {short(name)}; {hint}"


def short(text: str) -> str:
    """Quote what a client sent, cut where it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


_NAME = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_URI = re.compile(rf"skill://(?P<name>{_NAME})(?:/(?P<path>.+))?", re.ASCII)
_LONGEST_URI = 4096  # a path may have as many bytes on Linux


@dataclass(frozen=True, slots=True)
class Address:
    """What a URI names."""

    skill: str
    path: str = ""

    def __str__(self) -> str:
        """Write the URI."""
        return f"skill://{self.skill}/{self.path}" if self.path else f"skill://{self.skill}"


def skill_address(skill: str, path: str) -> Address:
    """Address a file or folder of a skill by its path as git has it."""
    return Address(skill, quote(path.encode("utf-8", "surrogateescape"), safe="/-._~"))


def read_address(uri: str) -> Address | None:
    """Read a URI; None when no skill could have it."""
    found = _URI.fullmatch(uri) if len(uri) <= _LONGEST_URI else None
    return Address(found["name"], found["path"] or "") if found else None


@dataclass(frozen=True, slots=True)
class ServedSkill:
    """An accepted version of a skill, or its committed text before there is one."""

    name: str
    version: str
    trained: bool
    at: str
    description: str
    frontmatter: Mapping[str, object]
    files: tuple[File, ...]
    problem: str


def _make_served(name: str, commit: str, at: str, files: tuple[File, ...]) -> ServedSkill:
    """Make a served skill of the files of its folder; `problem` says why hosts do not take it for that skill."""
    skill = skill_from_files(name, files)
    shipped = skill.shipped
    size = sum(len(file.content) for file in shipped)
    if size > MAX_SKILL_BYTES:
        raise SkillError(f"skill {name!r}: expected at most {MAX_SKILL_BYTES} bytes, found {size}; it is not served")
    found, problem = None, "expected frontmatter with a name and a description"
    fields: Mapping[str, object] = {}
    try:
        found = read_frontmatter(skill.document)
        fields = found.values if found else {}
        json.dumps(fields, ensure_ascii=False, allow_nan=False).encode("utf-8")
        called = found.text("name") if found and found.text("description") else None
        if called:
            problem = "" if called == name else f"its frontmatter names it {called[:64]!r}"
    except SkillError as error:
        problem = str(error)
    except ValueError:
        found, fields, problem = None, {}, "expected frontmatter that JSON can hold"
    about = (found.text("description") if found else None) or ""
    return ServedSkill(
        name, commit, bool(at), at, description=about, frontmatter=fields, files=shipped, problem=problem
    )


_SHORTEST = 7  # characters of a commit that name it


_repository = lru_cache(maxsize=4)(Repository.find)
"""Finds the repository around a folder; one that was not found is sought again."""


def catalogue_of(folder: Path) -> "Catalogue":
    """Return the catalogue of a project as it is now."""
    return Catalogue(snapshot_of(_repository(folder)))


def served_page(folder: Path, first: str, most: int) -> tuple[tuple[ServedSkill, ...], str | None]:
    """List one page of the served texts, sorted by name, and the name with which the next page begins."""
    try:
        catalogue = catalogue_of(folder)
        names = [name for name in catalogue.names if name >= first]
    except (RepositoryError, SettingsError):
        return (), None
    found = catalogue.newest_of(names[:most])
    return tuple(one for one in found.values() if isinstance(one, ServedSkill)), next(iter(names[most:]), None)


class Catalogue:
    """What is served of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.repository = snapshot.repository
        self.tips = snapshot.tips
        self.default, self.branch = snapshot.default, snapshot.branch
        self._histories: dict[str, tuple[Version, ...]] = {}

    @cached_property
    def project(self) -> Project:
        """The project, with its skillopt.toml as it is now."""
        return Project.read(self.repository.root)

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """The folder of every skill of the work tree by its name."""
        return {name: path for path, name in self.project.skill_names().items()}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all skills that are trained or committed, sorted; free documents are no skills."""
        return tuple(sorted({*self.tips, *self.committed} - {*self.project.documents().values()}))

    @cached_property
    def committed(self) -> Mapping[str, str]:
        """The folder of every skill on the default branch by its name, which is the work tree's where it has one."""
        rows = self.repository.tree(self.default, "") if self.default else []
        texts = [path for mode, _, path in rows if mode.startswith("100") and path.rpartition("/")[2] == SKILL_FILE]
        configured = {path: name for name, path in self.project.configured_paths().items() if path}
        places = (path.rpartition("/")[0] or "." for path in texts if not is_left_out(path))
        folders = [place for place in places if place in configured or not is_fixture(place)]
        here = {path: name for name, path in self.paths.items()}
        root = ""
        if "." in folders:  # the skill at the root is called as it names itself
            (text,) = read_found(self.repository.root, [f"{self.default}:{SKILL_FILE}"])
            root = read_leniently(SkillDocument.parse(text or b"")).text("name") or self.repository.root.name
        spelled = name_skills(folders, root, configured)
        found = {here[folder]: folder for folder in folders if folder in here}
        others = {spelled[folder]: folder for folder in folders if folder not in here}
        return others | found

    def read(self, name: str, version: str | None) -> ServedSkill:
        """Return the text that is served, or an accepted version by its start."""
        if version is None:
            return self.newest(name)
        accepted = self.accepted(name, version)
        return self._read(name, accepted.sha, accepted.at)

    def newest(self, name: str) -> ServedSkill:
        """Return the text of a skill that is served."""
        found = self.newest_of((name,))[name]
        if isinstance(found, UsageError):
            raise found
        return found

    def newest_of(self, names: Sequence[str]) -> dict[str, ServedSkill | UsageError]:
        """Return the texts of skills that are served, or why they are not, read with few processes."""
        self.histories(names)
        versions = {name: self.chosen(name) for name in names}
        places = {
            name: (version.sha, self._place(name) or self.committed.get(name, ""))
            if version
            else (self.default, self.committed[name])
            for name, version in versions.items()
            if version or name in self.committed
        }
        files, served = self._files_of(places), dict[str, ServedSkill | UsageError]()
        for name, version in versions.items():
            place, at = places.get(name), version.at if version else ""
            if place is None:
                served[name] = UsageError(self._nothing(name))
                continue
            try:
                found = files.get(name, ())
                whole = any(file.path == SKILL_FILE for file in found)
                served[name] = _make_served(name, place[0], at, found) if whole else self._read(name, place[0], at)
            except UsageError as error:
                served[name] = error
        return served

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
        declined = Decisions(versions).declined
        found = next((one for one in versions if commit_kind(one) != "start" and one.sha not in declined), None)
        if found is None and versions and name not in self.committed:
            return versions[0]
        return found

    def _files_of(self, places: Mapping[str, tuple[str, str]]) -> dict[str, tuple[File, ...]]:
        """Read the files of folders."""
        root, names = self.repository.root, [name for name, (_, path) in places.items() if path]
        listed = dict(zip(names, list_folders(root, [places[name] for name in names]), strict=True))
        shas = list(dict.fromkeys(sha for files in listed.values() for sha in files.values()))
        contents = dict(zip(shas, read_objects(root, shas), strict=True))
        return {
            name: tuple(File(path, contents[sha]) for path, sha in sorted(files.items()))
            for name, files in listed.items()
        }

    def _read(self, name: str, commit: str, at: str) -> ServedSkill:
        """Read a skill at a commit: where it is now, else where that commit has its name."""
        sought = [place for place in (self._place(name), self.committed.get(name, "")) if place]
        for place in dict.fromkeys(sought):
            files = self.repository.read_folder(commit, place)
            if any(file.path == SKILL_FILE for file in files):
                return _make_served(name, commit, at, files)
        if elsewhere := find_skill_folder(self.repository, commit, name):
            return _make_served(name, commit, at, self.repository.read_folder(commit, elsewhere))
        place = " or ".join(dict.fromkeys(sought)) or f"a folder {name}"
        raise SkillError(f"skill {name!r}: expected {SKILL_FILE!r} in {place} of {commit[:10]}, found none")

    def _place(self, name: str) -> str:
        """Return where a skill lies now, empty where it is not known."""
        if name in self.project.entries:
            return self.repository.relative(self.project.configured_folder(name))
        return self.paths.get(name, "")

    def _nothing(self, name: str) -> str:
        """Return why there is nothing to serve."""
        if name in self.paths:
            place = self.paths[name]
            to = f" to branch {self.branch}" if self.branch else ""
            return f"skill {name!r}: {place} is not committed{to}, and only what is committed is served"
        return unknown_skill(name, {*self.names, *self.paths})
