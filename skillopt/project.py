"""A user's project: its root, its skillopt.toml, and the skill and suite that a command is about."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from skillopt.errors import RepositoryError, SettingsError, UsageError
from skillopt.presets import flatten_tables, make_settings
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.folder import read_skill
from skillopt.suites import load_suite
from skillopt.suites.formats import find_tasks
from skillopt.tasks import Suite
from skillopt.versions.repository import Repository

__all__ = ["CONFIG", "SKILL_FOLDERS", "Project", "Selection", "Target", "find_skills"]

CONFIG = "skillopt.toml"

SKILL_FOLDERS = ("skills", ".claude/skills", ".agents/skills")
"""Where skills lie in a repository, by convention."""

_SUITE_FOLDERS = ("suites", "benchmarks/suites", "evals")
_PREFIX = "SKILLOPT_"
_ENTRY_KEYS = ("path", "suite")


@dataclass(frozen=True, slots=True)
class Selection:
    """What the user points at.

    Args:
        name: The skill's name in skillopt.toml or its folder; None for the only configured one.
        flags: Settings that override file and environment.
        suite: Overrides the configured suite.
        folder: Where the command is given; the current folder when None.
    """

    name: str | None = None
    flags: Mapping[str, object] = field(default_factory=dict)
    suite: Path | None = None
    folder: Path | None = None

    def project(self) -> "Project":
        """Find the project around the folder."""
        return Project.find(self.folder or Path.cwd())


@dataclass(frozen=True, slots=True)
class Target:
    """What a command is about.

    Args:
        name: The skill's name.
        folder: The skill folder.
        suite_path: The suite's folder or file, else the skill's own evals; None when there are none either.
        settings: Settings after all layers.
    """

    name: str
    folder: Path
    suite_path: Path | None
    settings: Settings

    def skill(self) -> Skill:
        """Read the skill from the work tree, without files that git ignores: they are private, not part of it."""
        skill = read_skill(self.folder)
        try:
            ignored = Repository.find(self.folder).ignored([self.folder / file.path for file in skill.files])
        except RepositoryError:
            return skill
        return replace(skill, files=tuple(file for file in skill.files if self.folder / file.path not in ignored))

    def suite(self) -> Suite:
        """Read the suite.

        Raises:
            UsageError: None is configured, and the skill brings none along.
        """
        if self.suite_path is None:
            message = (
                f"skill {self.name!r} has no suite; pass --suite PATH, set it in {CONFIG} under "
                f"[skills.{self.name}], or give the skill evals/evals.json"
            )
            raise UsageError(message)
        return load_suite(self.suite_path)


@dataclass(frozen=True, slots=True)
class Project:
    """The folder that holds skillopt.toml and `.skillopt/`: the repository's root where there is one."""

    root: Path
    entries: Mapping[str, Mapping[str, object]]
    values: Mapping[str, object]

    @classmethod
    def find(cls, start: Path) -> "Project":
        """Find the project around a folder.

        Raises:
            SettingsError: skillopt.toml cannot be read.
        """
        try:
            root = Repository.find(start).root
        except RepositoryError:
            holders = (folder for folder in (start, *start.resolve().parents) if (folder / CONFIG).is_file())
            root = next(holders, start.resolve())
        return cls.read(root)

    @classmethod
    def read(cls, root: Path) -> "Project":
        """Read the project whose root is known.

        Raises:
            SettingsError: skillopt.toml cannot be read.
        """
        config = root / CONFIG
        if not config.is_file():
            return cls(root, {}, {})
        try:
            loaded = tomllib.loads(config.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            message = f"{config}: not readable as TOML: {error}"
            raise SettingsError(message) from error
        entries = loaded.pop("skills", {})
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            message = f"{config}: expected [skills.NAME] tables, found {entries!r}"
            raise SettingsError(message)
        return cls(root, entries, loaded)

    @property
    def config(self) -> Path:
        """Give the path of skillopt.toml, which need not exist."""
        return self.root / CONFIG

    def repository(self) -> Repository:
        """Open the repository around the project.

        Raises:
            RepositoryError: There is none.
        """
        return Repository.find(self.root)

    def settings(self, flags: Mapping[str, object] | None = None) -> Settings:
        """Give the settings that hold for all skills.

        Raises:
            SettingsError: A setting is unknown or out of range.
        """
        values = flatten_tables(CONFIG, self.values)
        layers = ((CONFIG, values), ("environment", _environment(os.environ)), ("command line", flags or {}))
        return make_settings(*layers)

    def target(self, selection: Selection) -> Target:
        """Resolve a skill by its configured name or its folder; without one, the only one configured.

        Raises:
            UsageError: There is no such skill.
            SettingsError: A setting is unknown or out of range.
        """
        entry, folder = self._entry(selection.name, selection.folder or Path.cwd())
        layers = [
            (CONFIG, flatten_tables(CONFIG, self.values)),
            (f"{CONFIG} [skills.{folder.name}]", {key: entry[key] for key in entry if key not in _ENTRY_KEYS}),
            ("environment", _environment(os.environ)),
            ("command line", selection.flags),
        ]
        configured = entry.get("suite")
        found = selection.suite or (self.root / str(configured) if configured else find_tasks(folder))
        return Target(folder.name, folder, found, make_settings(*layers))

    def _entry(self, name: str | None, base: Path) -> tuple[Mapping[str, object], Path]:
        if name is None and len(self.entries) == 1:
            name = next(iter(self.entries))
        if name is None:
            listed = ", ".join(sorted(self.entries)) or "none configured"
            message = f"expected the name or folder of a skill, found none given; configured: {listed}"
            raise UsageError(message)
        if name in self.entries:
            entry = self.entries[name]
            return entry, (self.root / str(entry.get("path", f"skills/{name}"))).resolve()
        folder = (base / name).resolve()
        if folder.is_file() and folder.name == "SKILL.md":
            folder = folder.parent
        if folder.is_dir():
            return self._entry_of(folder), folder
        near = get_close_matches(name, self.entries, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"configured: {', '.join(sorted(self.entries)) or 'none'}"
        message = f"expected a skill named in {CONFIG} or a skill folder, found {name!r}; {hint}"
        raise UsageError(message)

    def _entry_of(self, folder: Path) -> Mapping[str, object]:
        """Find the configured entry of a folder, empty when there is none."""
        for name, entry in self.entries.items():
            if (self.root / str(entry.get("path", f"skills/{name}"))).resolve() == folder:
                return entry
        return {}


def _environment(variables: Mapping[str, str]) -> dict[str, object]:
    """Take settings from SKILLOPT_… variables; a list is separated by commas."""
    found: dict[str, object] = {}
    for variable, text in variables.items():
        if variable.startswith(_PREFIX):
            key = variable.removeprefix(_PREFIX).lower()
            found[key] = tuple(filter(None, text.split(","))) if key == "allow" else text
    return found


def find_skills(root: Path) -> list[tuple[str, str, str]]:
    """List the skills where they lie by convention: name, folder, and suite (empty when there is none)."""
    skills = []
    for parent in SKILL_FOLDERS:
        for document in sorted((root / parent).glob("*/SKILL.md")):
            name = document.parent.name
            spellings = [f"{base}{end}" for base in (name, name.replace("-", "_")) for end in ("", ".yaml", ".jsonl")]
            places = (root / place / spelling for place in _SUITE_FOLDERS for spelling in spellings)
            suite = next((place for place in places if place.exists()), None) or find_tasks(document.parent)
            shown = "" if suite is None else suite.relative_to(root).as_posix()
            skills.append((name, document.parent.relative_to(root).as_posix(), shown))
    return skills
