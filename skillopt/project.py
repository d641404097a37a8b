"""A user's project: its root, its skillopt.toml, and the skill and suite that a command is about."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from skillopt.agent_table import ALLOWED_AGENTS, read_agent_tables
from skillopt.errors import RepositoryError, SettingsError, UsageError
from skillopt.sandbox.hidden_folders import hide
from skillopt.sandbox.roots import ENGINE
from skillopt.settings import Settings, flatten_tables, make_settings, read_setting
from skillopt.skills.discovery import HOW_TO_BEGIN, name_skills, skill_name
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import SKILL_FILE, find_skill_folders, is_fixture, is_left_out, read_skill
from skillopt.skills.frontmatter import read_leniently
from skillopt.skills.trained_files import SkillPlace
from skillopt.suites import plan_suite, read_tasks
from skillopt.suites.formats import find_tasks, suite_named
from skillopt.suites.oracles import find_oracles
from skillopt.suites.reading import Reading
from skillopt.tasks import Suite
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import worktree_folders

CONFIG = "skillopt.toml"

_MOST_LISTED: Final = 8  # names that a message of a few lines has room for
_PREFIX = "SKILLOPT_"
_ENTRY_KEYS = ("path", "suite")
_FILE_KEYS = ("references", "scripts")
_NO_SETTINGS = (*_ENTRY_KEYS, *_FILE_KEYS, "paths")


@dataclass(frozen=True, slots=True)
class Selection:
    """What the user points at."""

    name: str | None = None
    flags: Mapping[str, object] = field(default_factory=dict)
    suite: Path | None = None
    folder: Path | None = None

    def project(self) -> "Project":
        """Find the project around the folder."""
        return Project.find(self.folder or Path.cwd())


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A skill that lies in the project."""

    name: str
    path: str
    suite: str


@dataclass(frozen=True, slots=True)
class Target:
    """What a command is about."""

    name: str
    folder: Path
    suite_path: Path | None
    settings: Settings
    trained: tuple[str, ...] = ()
    root: Path = Path()

    def place(self, repository: Repository) -> str:
        """Say where in a repository its files are, and which of them are trained."""
        return str(SkillPlace(repository.relative(self.folder), self.trained))

    def skill(self) -> Skill:
        """Read the skill from the work tree, without files that git ignores: they are private, not part of it."""
        try:
            repository = Repository.find(self.folder)
        except RepositoryError:
            return replace(read_skill(self.folder, trained=self.trained), name=self.name)
        return replace(read_skill(self.folder, repository.root, repository.ignored, self.trained), name=self.name)

    def suite(self, *, every: bool = False) -> Suite:
        """Read the suite, without tasks whose oracle failed unless `every` keeps them."""
        return plan_suite(self.reading(every=every))

    def reading(self, *, every: bool = False) -> Reading:
        """Read the tasks of the suite, and why others are left out."""
        if self.suite_path is None:
            raise UsageError(
                f"skill {self.name!r} has no suite; pass --suite PATH, set it in {CONFIG} under "
                f"[skills.{self.name}], let `skillopt write-tasks {self.name}` draft tasks, or give the skill "
                "evals/evals.json"
            )
        reading = read_tasks(self.suite_path, executor=self.settings.executor)
        # Only tasks with an environment bring a solution by which their own check is checked.
        checked = not every and any(task.environment for _, task in reading.tasks)
        oracles = find_oracles() if checked else None
        state = self.root / ".skillopt"
        return reading if oracles is None else oracles.leave_out(reading, state, self.settings.sandbox)


@dataclass(frozen=True, slots=True)
class Project:
    """The folder that holds skillopt.toml and `.skillopt/`: the repository's root where there is one."""

    root: Path
    entries: Mapping[str, Mapping[str, object]]
    values: Mapping[str, object]

    @classmethod
    def find(cls, start: Path) -> "Project":
        """Find the project around a folder."""
        try:
            root = Repository.find(start).root
        except RepositoryError:
            holders = (folder for folder in (start, *start.resolve().parents) if (folder / CONFIG).is_file())
            root = next(holders, start.resolve())
        return cls.read(root)

    @classmethod
    def read(cls, root: Path) -> "Project":
        """Read the project whose root is known."""
        hide(root)
        config = root / CONFIG
        if not config.is_file():
            return cls(root, {}, {})
        try:
            text = config.read_text(encoding="utf-8")
            loaded = dict(_load_tables(config, text))
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"{config}: expected TOML, found: {error}; correct the line (texts stand in quotes)"
            ) from error
        entries = {**loaded.pop("skills", {}), **loaded.pop("documents", {})}
        if "agents" in loaded:
            loaded["agents"] = read_agent_tables(loaded["agents"], str(config))
        return cls(root, entries, loaded)

    @property
    def config(self) -> Path:
        """Give the path of skillopt.toml, which need not exist."""
        return self.root / CONFIG

    def repository(self) -> Repository:
        """Open the repository around the project."""
        return Repository.find(self.root)

    def settings(self, flags: Mapping[str, object] | None = None) -> Settings:
        """Give the settings that hold for all skills."""
        values = flatten_tables(CONFIG, self.values)
        layers = ((CONFIG, values), ("environment", _environment(os.environ)), ("command line", flags or {}))
        return make_settings(*layers)

    def target(self, selection: Selection) -> Target:
        """Resolve a skill by its configured name or its folder; without one, the only one configured."""
        entry, folder = self._entry(selection.name, selection.folder or Path.cwd())
        layers = [
            (CONFIG, flatten_tables(CONFIG, self.values)),
            (f"{CONFIG} [skills.{folder.name}]", {key: entry[key] for key in entry if key not in _NO_SETTINGS}),
            ("environment", _environment(os.environ)),
            ("command line", selection.flags),
        ]
        free = str(selection.name or self._only_skill()) if "paths" in entry else ""
        name, configured = free or self._name_of(folder), entry.get("suite")
        # A free document lies beside everything else, whose tasks are not its own.
        own = suite_named(name, self.root) if free else self.find_suite(name, folder)
        found = selection.suite or (self.root / str(configured) if configured else own)
        path = Path(self.root, found) if found else None
        hide(folder)
        return Target(name, folder, path, make_settings(*layers), trained=_trained(name, entry), root=self.root)

    def documents(self) -> dict[str, str]:
        """Give the name of every free document by its place in the repository."""
        free = {name: _trained(name, entry) for name, entry in self.entries.items() if "paths" in entry}
        return {str(SkillPlace(".", paths)): name for name, paths in free.items()}

    def configured_folder(self, name: str) -> Path:
        """Give the folder of a skill that has a table in skillopt.toml; a link may lead out of the project."""
        entry = self.entries[name]
        return (self.root / str("." if "paths" in entry else entry.get("path", f"skills/{name}"))).resolve()

    def configured_paths(self) -> dict[str, str]:
        """Give the folder in the project of every skill with a table, by its name; empty for one that lies outside."""
        root = os.path.realpath(self.root)
        found = {}
        for name, entry in self.entries.items():
            if "paths" in entry:
                continue
            real = os.path.realpath(f"{root}/{entry.get('path', f'skills/{name}')}")
            inside = real == root or real.startswith(f"{root}/")
            found[name] = (real[len(root) + 1 :] or ".") if inside else ""
        return found

    def discover(self) -> tuple[FoundSkill, ...]:
        """Find every skill of the project by path: each SKILL.md that git does not ignore, configured or not."""
        return self.with_suites(self.skill_names())

    def with_suites(self, names: Mapping[str, str]) -> tuple[FoundSkill, ...]:
        """Find the tasks of some skills of the project."""
        given = {path: self.entries[name].get("suite") for name, path in self.configured_paths().items()}
        found = []
        for path, name in names.items():
            own = given.get(path) or suite_named(name, self.root) or find_tasks(self.root / path) or ""
            shown = own.relative_to(self.root).as_posix() if isinstance(own, Path) else str(own)
            found.append(FoundSkill(name, path, shown))
        return tuple(found)

    def find_suite(self, name: str, folder: Path) -> Path | None:
        """Find the tasks of a skill that no setting names: in a folder of suites, else its own."""
        beside = suite_named(name, self.root) if folder.is_relative_to(self.root.resolve()) else ""
        return self.root / beside if beside else find_tasks(folder)

    def skill_names(self) -> dict[str, str]:
        """Give the name of every skill of the project by its folder, sorted by folder; no two are the same."""
        configured = {path: name for name, path in self.configured_paths().items()}
        there = {path for path in configured if path and (self.root / path / SKILL_FILE).is_file()}
        paths = sorted({*self._skill_folders(), *there})
        return name_skills(paths, self._root_name() if "." in paths else "", configured)

    def _skill_folders(self) -> list[str]:
        """List the folders with a SKILL.md; one whose SKILL.md leads to that of another one is that other one."""
        try:
            found = worktree_folders(Repository(self.root))
        except RepositoryError:
            found = tuple(find_skill_folders(self.root))
        kept = [folder for folder in found if not (is_left_out(folder) or is_fixture(folder))]
        linked = {folder for folder in kept if os.path.islink(f"{self.root}/{folder}/{SKILL_FILE}")}  # noqa: PTH114 - of thousands, fast
        return [folder for folder in kept if folder not in linked or not self._resolved(self.root / folder)]

    def _resolved(self, folder: Path) -> str:
        """Give the folder where a skill's SKILL.md really lies, empty for one outside or under another name."""
        document = folder / SKILL_FILE
        if not document.is_symlink():
            return folder.relative_to(self.root).as_posix()
        real = document.resolve()
        inside = real.name == SKILL_FILE and real.is_relative_to(self.root.resolve())
        return real.parent.relative_to(self.root.resolve()).as_posix() if inside else ""

    def _root_name(self) -> str:
        """Name the skill at the root as it names itself: every clone has another folder."""
        try:
            document = SkillDocument.parse((self.root / SKILL_FILE).read_bytes())
        except OSError:
            return self.root.name
        return read_leniently(document).text("name") or self.root.name

    def _entry(self, name: str | None, base: Path) -> tuple[Mapping[str, object], Path]:
        """Find a skill's table, which may be empty, and its folder."""
        if name is None:
            name = self._only_skill()
        if name in self.entries:
            return self.entries[name], self.configured_folder(name)
        folder = (base / name).resolve()
        if folder.is_file() and folder.name == SKILL_FILE:
            folder = folder.parent
        if not (folder / SKILL_FILE).is_file():
            folder = self._discovered(name) or folder
        if folder.is_dir():
            inside = self._resolved(folder) if folder.is_relative_to(self.root) else ""
            folder = (self.root / inside).resolve() if inside else folder
            found = (entry for known, entry in self.entries.items() if self.configured_folder(known) == folder)
            return next((entry for entry in found if "paths" not in entry), {}), folder
        known = {*self.entries, *self.skill_names().values()}
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else self._here(known)
        raise UsageError(f"expected the name or folder of a skill, found {name!r}; {hint}")

    def _only_skill(self) -> str:
        """Give the one skill that is configured, or the one that is here where none is."""
        names = set(self.entries) or set(self.skill_names().values())
        if len(names) == 1:
            return next(iter(names))
        if not names:
            raise UsageError(f"expected a skill, found {HOW_TO_BEGIN}")
        message = f"expected the name or folder of a skill, found none given; {self._here(names)}"
        raise UsageError(message if self.entries else f"{message}; `skillopt init` writes {CONFIG} for them")

    def _here(self, names: set[str]) -> str:
        """List names, the first few where they are many."""
        if not names:
            return HOW_TO_BEGIN
        listed, more = sorted(names)[:_MOST_LISTED], len(names) - _MOST_LISTED
        kind = "configured" if self.entries else "skills here"
        return f"{kind}: {', '.join(listed)}{f' and {more} more' if more > 0 else ''}"

    def _discovered(self, name: str) -> Path | None:
        """Find a skill of the project by its name, or by its folder's name where that is unique."""
        names = self.skill_names()
        found = [path for path, known in names.items() if known == name]
        found = found or [path for path in names if PurePosixPath(path).name == name]
        if len(found) > 1:
            listed = ", ".join(f"{names[path]} ({path})" for path in found[:_MOST_LISTED])
            raise UsageError(f"expected one skill, found {len(found)} in folders named {name!r}; name one: {listed}")
        return (self.root / found[0]).resolve() if found else None

    def _name_of(self, folder: Path) -> str:
        """Name a skill; its folder's name does where a table of skillopt.toml has it."""
        name, root = skill_name(folder.name), self.root.resolve()
        if not folder.is_relative_to(root) or (name in self.entries and self.configured_folder(name) == folder):
            return name
        return self.skill_names().get(folder.relative_to(root).as_posix(), name)


def _environment(variables: Mapping[str, str]) -> dict[str, object]:
    """Take settings from SKILLOPT_… variables; a list is separated by commas."""
    found: dict[str, object] = {}
    for variable, text in variables.items():
        if variable.startswith(_PREFIX) and variable not in (ALLOWED_AGENTS, ENGINE):
            key = variable.removeprefix(_PREFIX).lower()
            found[key] = read_setting(key, text)
    return found


@lru_cache(maxsize=2)  # a night over a thousand skills asks for the same thousand tables for each of them
def _load_tables(config: Path, text: str) -> Mapping[str, Any]:
    """Read the tables of skillopt.toml, and check those of skills."""
    loaded = tomllib.loads(text)
    entries = loaded.get("skills", {})
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise SettingsError(f"{config}: expected [skills.NAME] tables, found {entries!r}")
    for name, entry in entries.items():
        for key in _ENTRY_KEYS:
            given = os.path.normpath(str(entry.get(key, "")))
            absolute = given.startswith("/") and not Path(given).is_relative_to(config.parent)
            if absolute or given == ".." or given.startswith("../"):
                raise SettingsError(
                    f"{config}: [skills.{name}] {key}: expected a path in the project, found {str(entry[key])!r}; move "
                    "it there, or name it on the command line"
                )
    documents = {name: {"paths": None, **entry} for name, entry in loaded.get("documents", {}).items()}
    if both := entries.keys() & documents.keys():
        raise SettingsError(f"{config}: expected one table {min(both)!r}, found one of a skill and one of a document")
    for name, entry in (*entries.items(), *documents.items()):
        _trained(f"{config} {name}", entry)
    return loaded


def _trained(origin: str, entry: Mapping[str, object]) -> tuple[str, ...]:
    """List what is trained beside SKILL.md, or the files of a free document; refuse what cannot be."""
    named = [key for key in _FILE_KEYS if key in entry]
    if wrong := next((key for key in named if entry[key] != "train"), ""):
        raise SettingsError(f'{origin}: expected {wrong} = "train", or no such line, found {entry[wrong]!r}')
    if "paths" not in entry:
        return tuple(f"{key}/" for key in named)
    paths, place = entry["paths"], SkillPlace(".", ("scripts/",))  # scripts may have any plain path
    listed = tuple(map(str, paths)) if isinstance(paths, list) else ()
    plain = all(place.trains(f"scripts/{path}") and not path.endswith(SKILL_FILE) for path in listed)
    if not listed or not plain or len({*listed}) < len(listed):
        wanted = f"files of the repository, each once and none a {SKILL_FILE}, such as ['AGENTS.md']"
        raise SettingsError(f"{origin}: expected paths = [...] with {wanted}, found {paths!r}")
    return listed
