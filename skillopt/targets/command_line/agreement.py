"""Who agreed to what a repository's skillopt.toml makes run here: its tables, and agents without a sandbox.

A repository can be a stranger's. A person is asked once for each table and the files of the project that it names as
they are, and the answer is kept outside of the repository. Where nobody can be asked, whoever starts the program names
the agents in a variable, which no file of a project can set.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from skillopt.agent_table import ALLOWED_AGENTS, SHIPPED, AgentTable
from skillopt.errors import SettingsError
from skillopt.targets.command_line.client import CommandLineHarness, key_words

_CONFIG: Final = "skillopt.toml"


@dataclass(frozen=True, slots=True)
class AgentTerms:
    """What a person agrees to."""

    name: str
    table: AgentTable | None
    project: Path
    sandbox: str

    @property
    def agreed(self) -> bool:
        """Whether it may run: it is shipped as it is, named in the variable, or somebody said yes."""
        named = {name.strip() for name in os.environ.get(ALLOWED_AGENTS, "").split(",")}
        if (self.table is not None and self.table == SHIPPED.get(self.name)) or self.name in named:
            return True
        return self._digest in _kept().get(self._place, ())

    def agree(self) -> None:
        """Keep a person's yes in the user's state folder."""
        kept = {place: list(digests) for place, digests in _kept().items()}
        kept[self._place] = sorted({*kept.get(self._place, ()), self._digest})
        file = _file()
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside = file.with_name(f"{file.name}.{os.getpid()}")
            beside.write_text(json.dumps(kept, indent=1), encoding="utf-8")
            beside.replace(file)
        except OSError as error:
            raise SettingsError(f"{file}: expected a file that can be written, found: {error}; mend that") from error

    @property
    def words(self) -> str:
        """What would run, what it is given, and where."""
        if self.table is None:
            return f"{_CONFIG} runs {self.name} without a sandbox: it may do whatever you may, with your login"
        own = ", ".join(path for path, _ in self._files)
        what = f"{' '.join(self.table.command)!r}{f' with {own} as they are now' if own else ''}"
        where = "without a sandbox: it may do whatever you may" if self.sandbox == "none" else "in the sandbox"
        if self.sandbox == "auto":
            where += " where that works, else as you"
        return f"[agents.{self.name}] runs {what} {where}, and {key_words(self.table, self.table.keys)}"

    @property
    def _place(self) -> str:
        return str(self.project.resolve())

    @property
    def _digest(self) -> str:
        table = self.table.model_dump_json() if self.table else ""
        agreed = [self.name, table, self.sandbox, *self._files]
        return sha256(json.dumps(agreed).encode()).hexdigest()

    @property
    def _files(self) -> tuple[tuple[str, str], ...]:
        if self.table is None:
            return ()
        root = os.path.realpath(self.project)
        try:
            return tuple(
                (os.path.relpath(path, root), sha256(Path(path).read_bytes()).hexdigest())
                for path in CommandLineHarness(self.name, self.table, Path(root)).own_files()
            )
        except OSError as error:
            raise SettingsError(f"[agents.{self.name}]: expected files that can be read, found: {error}") from error


def expect_agreement(terms: AgentTerms) -> None:
    """Refuse what nobody agreed to."""
    if not terms.agreed:
        raise SettingsError(
            f"{terms.words}: expected that somebody agreed to that, found nobody; run `skillopt doctor` on a terminal, "
            f"which asks, or set {ALLOWED_AGENTS}={terms.name} where nobody can be asked"
        )


def is_unsandboxed_by_file(project: Path) -> bool:
    """Return whether skillopt.toml says `sandbox = "none"`, for all skills or for one; flags are a person's."""
    try:
        found = tomllib.loads((project / _CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    skills = found.get("skills")
    tables = [found, *(skills.values() if isinstance(skills, dict) else ())]
    return any(isinstance(table, dict) and table.get("sandbox") == "none" for table in tables)


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return folder / "skillopt" / "agreed-agents.json"


def _kept() -> Mapping[str, list[str]]:
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {place: digests for place, digests in found.items() if isinstance(digests, list)}
