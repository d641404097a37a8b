"""Agents that a table `[agents.NAME]` describes, as targets: their program, its command line and what it may see."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from skillopt.agent_table import PLACEHOLDER, AgentTable
from skillopt.errors import FailureKind, InfrastructureError, ProviderError, SettingsError
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Usage
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.processes import run_process
from skillopt.sandbox.workspace import Workspace
from skillopt.settings import Price
from skillopt.skills.document import Skill
from skillopt.targets.client import Client, LoadingMode
from skillopt.targets.command_line.output import TableOutput
from skillopt.targets.prices import bound_by_turns, with_price
from skillopt.targets.process import AgentCommand, AgentHome, find_program, first_set
from skillopt.targets.stream import ClientRun
from skillopt.tasks import digest_of

_VERSION_SECONDS: Final = 30.0  # a start of Node on a busy machine takes seconds
_QUIET: Final = {"NO_COLOR": "1", "TERM": "dumb"}
_LONGEST_ARGUMENT: Final = 100_000
"""Bytes; Linux takes 131,072 of one argument."""

_FORCED: Final = """\
Follow the skill {name}. Its folder is {folder}. Its document:

<skill name="{name}">
{document}
</skill>

{prompt}"""


@dataclass(frozen=True)
class CommandLineHarness(Client):
    """Runs tasks with an agent that a table describes."""

    name: str
    table: AgentTable
    project: Path
    _: KW_ONLY
    model: str = ""
    mode: LoadingMode = "forced"
    prices: Mapping[str, Price] = field(default_factory=dict)
    sandbox: SandboxChoice = "auto"

    @property
    def identity(self) -> str:
        """Name agent, version, table, model and mode."""
        table, own, program = digest_of(self.table.model_dump_json())[:12], self.own_files(), self._program
        boxed = " sandbox=bwrap" if Sandbox(self.sandbox).active else ""
        if self.table.command[0].startswith("{project}"):
            told = []
        elif Sandbox("auto" if self.sandbox == "none" else self.sandbox).active:
            told = [_ask_version(program)]
        else:  # a stranger's command is not run without a sandbox only to name it
            told = [f"program={_digest_of((program,))}"]
        version = " ".join([*told, *([f"files={_digest_of(own)}"] if own else [])])
        return f"{self.name} {version} table={table} model={self.model or 'default'} mode={self.mode}{boxed}"

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - the agent's limit holds for every task
        """Bound a rollout by the requests that the agent may make, and one more."""
        if not self.table.turns:
            raise SettingsError(
                f"expected a limit on one rollout beside max_usd or max_tokens, found none for {self.name}; say in "
                f"[agents.{self.name}] how many requests it makes at most (turns), or cap max_rollouts instead"
            )
        return bound_by_turns(self.model.rpartition("/")[2], self.table.turns + 1, self.prices)

    @property
    def client(self) -> str:
        """Its name."""
        return self.name

    @property
    def skills(self) -> str:
        """Where in the workspace it looks for skill folders."""
        return self.table.skills

    def forced_prompt(self, skill: Skill, prompt: str) -> str:
        """Put the skill's document before the prompt."""
        folder = f"{self.table.skills}/{skill.name}"
        document = skill.document.file().text.strip()
        return _FORCED.format(name=skill.name, folder=folder, document=document, prompt=prompt)

    def command(self, request: RolloutRequest, home: AgentHome, workspace: str, prompt: str) -> AgentCommand:  # noqa: ARG002 - the prompt has it all
        """Write the files of its home, and return its command line."""
        passes = any("{prompt}" in word for word in self.table.command)
        if passes and len(prompt.encode("utf-8", "replace")) > _LONGEST_ARGUMENT:
            raise ProviderError.of(
                FailureKind.TOO_LARGE,
                f"the prompt is longer than {_LONGEST_ARGUMENT} bytes; pass it by {{prompt_file}} or standard input",
            )
        file = Path(home.path, "task.txt")
        values = {
            "home": home.path,
            "config": home.config,
            "workspace": workspace,
            "prompt": prompt.replace("\0", ""),
            "prompt_file": str(file),
        }
        for path, text in self.table.files.items():
            place = Path(home.path, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(self._filled(text, values), encoding="utf-8")
        file.write_bytes(prompt.encode("utf-8", "replace"))
        given = (*self.table.command, *(self.table.model if self.model else ()))
        words = [self._filled(word, values) for word in given]
        own = {name: self._filled(text, values) for name, text in self.table.environment.items()}
        keys = {name: os.environ[name] for name in self.table.keys if os.environ.get(name)}
        reads = not passes and not any("{prompt_file}" in word for word in self.table.command)
        return AgentCommand(
            (self._program, *words[1:]),
            {**home.environment(), **_QUIET, **own, **keys},
            prompt if reads else "",
            Sandbox(self.sandbox),
            next(iter(self.table.url), ""),
            others=self.table.url[1:],
            shown=self.own_files(),
            client=self.name,
        )

    def read(self, run: ClientRun, home: AgentHome, request: RolloutRequest) -> TableOutput:  # noqa: ARG002 - it printed all
        """Read what it printed."""
        return TableOutput(self.table, run.stdout)

    def usage(self, usage: Usage, cached: int) -> Usage:
        """Return what a rollout consumed, by the price of its model where it tells none."""
        return with_price(usage, self.model.rpartition("/")[2], self.prices, cached)  # without who serves it

    @property
    def _program(self) -> str:
        name = self._filled(self.table.command[0])
        return os.path.abspath(find_program(name, name))  # noqa: PTH100 - keeps a link's name

    def own_files(self) -> tuple[str, ...]:
        """List the files of the project that its table names, which are shown in the sandbox."""
        found: dict[str, None] = {}
        root = os.path.realpath(self.project)
        for setting, word in self.table.project_words:
            path = os.path.abspath(self._filled(word).rstrip(":;,"))  # noqa: PTH100 - keeps a link's name
            if not Path(path).is_file():
                continue
            real = os.path.realpath(path)
            if not Path(real).is_relative_to(root):
                raise SettingsError(
                    f"[agents.{self.name}] {setting}: expected a file of the project, found that {word!r} is {real}; "
                    "put the file into the project, or the program on the PATH"
                )
            found[path] = None
        return tuple(found)

    def _filled(self, text: str, values: Mapping[str, str] = MappingProxyType({})) -> str:
        """Put values in the place of names in braces; other braces stay, as those of JSON."""
        known = {
            **values,
            "project": str(self.project.resolve()),
            "model": self.model,
            "url": next(iter(self.table.url), ""),
            "turns": str(self.table.turns),
        }
        return PLACEHOLDER.sub(lambda found: known.get(found[1], found[0]), text)


def find_table_login(table: AgentTable) -> tuple[bool, str]:
    """Return whether one of the keys that a table names is set, or how to get one."""
    if not table.keys:
        return True, "needs no credential"
    found = first_set(*table.keys)
    if found is None:
        return False, f"expected a key in {' or '.join(table.keys)}, found none; set it"
    given = key_words(table, [name for name in table.keys if os.environ.get(name)])
    return True, f"credential from {found[0]}; {given}"


def key_words(table: AgentTable, keys: Sequence[str]) -> str:
    """Return which keys an agent is given, and which hosts it may give them to."""
    hosts = ", ".join(urlsplit(url).netloc for url in table.url) or "no host"
    return f"gives {', '.join(keys) or 'no key'} to {hosts}"


def _digest_of(files: tuple[str, ...]) -> str:
    digest = sha256()
    for file in files:
        digest.update(sha256(Path(file).read_bytes()).digest())
    return digest.hexdigest()[:12]


@lru_cache(maxsize=32)
def _ask_version(program: str) -> str:
    """Ask a program for its version, once, in the sandbox; one that tells none is known by the digest of its file."""
    with AgentHome.create() as home, Workspace.create() as folder:
        wrapped = Sandbox("bwrap").wrap_check((program, "--version"), home.path, folder.path)
        result = run_process(wrapped, folder.path, {**home.environment(), **_QUIET}, _VERSION_SECONDS)
    if result.timed_out:
        raise InfrastructureError(f"{program}: expected its version within {_VERSION_SECONDS:g} s, found none; try it")
    words = [word.rstrip(".,") for word in result.stdout.split() if word.lstrip("v")[:1].isdigit()]
    return words[0] if result.status == 0 and words else f"program={_digest_of((program,))}"
