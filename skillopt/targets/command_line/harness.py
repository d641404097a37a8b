"""Harness of an agent that a table `[agents.NAME]` describes: the target is run by its command line in the workspace.

The skill is installed as a folder where the table says. With `forced` its document stands before the task's prompt;
with `discovery` the agent has to find it, and where its output does not tell of tools nobody knows whether it did.

It gets the keys that its table names, a home of its own and nothing else of the user's, and runs in the sandbox as the
other agents do.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Final, Literal

from skillopt.agent_table import AgentTable
from skillopt.errors import FailureKind, SettingsError
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Message, Trajectory, Usage, loading_note
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.workspace import changed_files
from skillopt.settings import Price
from skillopt.skills.document import Skill
from skillopt.targets.bounds import bound_by_turns, with_price
from skillopt.targets.command_line.output import TableOutput
from skillopt.targets.command_line.program import TableProgram
from skillopt.targets.process import AgentCommand, AgentHome, EndedRun, install_skills
from skillopt.targets.stream import Ending, failed_run, until_chosen
from skillopt.tasks import digest_of

__all__ = ["CommandLineHarness"]

_LONGEST_ARGUMENT: Final = 100_000
"""Bytes; Linux takes 131,072 of one argument."""

_FORCED: Final = """\
Follow the skill {name}. Its folder is {folder}. Its document:

<skill name="{name}">
{document}
</skill>

{prompt}"""


@dataclass(frozen=True)
class CommandLineHarness:
    """Runs tasks with an agent that a table describes."""

    name: str
    table: AgentTable
    project: Path
    _: KW_ONLY
    model: str = ""
    mode: Literal["forced", "discovery"] = "forced"
    seed: int = 0
    prices: Mapping[str, Price] = field(default_factory=dict)
    sandbox: SandboxChoice = "auto"

    @property
    def identity(self) -> str:
        """Name agent, version, table, model and mode."""
        table = digest_of(self.table.model_dump_json())[:12]
        boxed = " sandbox=bwrap" if Sandbox(self.sandbox).active else ""
        version = self._program.version(self.sandbox)
        return f"{self.name} {version} table={table} model={self.model or 'default'} mode={self.mode}{boxed}"

    @property
    def _program(self) -> TableProgram:
        return TableProgram(self.name, self.table, str(self.project.resolve()), self.model)

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - the agent's limit holds for every task
        """Bound a rollout by the requests that the agent may make, and one more."""
        if not self.table.turns:
            raise SettingsError(
                f"expected a limit on one rollout beside max_usd or max_tokens, found none for {self.name}; say in "
                f"[agents.{self.name}] how many requests it makes at most (turns), or cap max_rollouts instead"
            )
        return bound_by_turns(self._priced_model, self.table.turns + 1, None, self.prices)

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Let the agent do the task in the workspace."""
        skill = request.skill
        prompt = self._prompt(request)
        install_skills(request, workspace, self.table.skills)
        if self._program.passes_prompt and len(prompt.encode("utf-8", "replace")) > _LONGEST_ARGUMENT:
            words = f"the prompt is longer than {_LONGEST_ARGUMENT} bytes; pass it by {{prompt_file}} or standard input"
            return self._failed(request, failed_run(FailureKind.TOO_LARGE, words))
        with AgentHome.create() as home:
            ended = self._ended(home, workspace, prompt, request.task.timeout)
        output = TableOutput(self.table, ended.result.stdout)
        changed = tuple(path for path in changed_files(workspace, request.task.files) if self._is_of_task(path))
        ending = output.ending(ended.by(self.name), changed=bool(changed))
        notes = [] if skill is None else [Message("harness", self._loading(output, skill))]
        if request.discovery is not None and self.table.tool is not None:
            notes = [loading_note([one.name for one in request.installed if output.loads(one.name)])]
            ending = until_chosen(ending)
        return Trajectory(
            (Message("user", request.task.prompt), *notes, *output.messages()),
            output.answer,
            changed,
            ending.status,
            ending.reason,
            with_price(output.usage, self._priced_model, self.prices, output.cached_tokens),
        ).with_texts(lambda text: text.replace(workspace, "/workspace").replace(home.path, "/home/agent"))

    def _ended(self, home: AgentHome, workspace: str, prompt: str, seconds: float) -> EndedRun:
        """Run the command line."""
        program, file = self._program, Path(home.path, "task.txt")
        values = {
            "home": home.path,
            "config": home.config,
            "workspace": workspace,
            "prompt": prompt.replace("\0", ""),
            "prompt_file": str(file),
        }
        program.write_files(home, values)
        file.write_bytes(prompt.encode("utf-8", "replace"))
        command = AgentCommand(
            program.argv(values),
            program.environment(home, values),
            prompt if program.reads_prompt else "",
            Sandbox(self.sandbox),
            next(iter(self.table.url), ""),
            others=self.table.url[1:],
            shown=program.own_files(),
        )
        return command.run(home, workspace, seconds)

    def _prompt(self, request: RolloutRequest) -> str:
        """Return what the agent is asked; a forced skill stands before it."""
        skill, prompt = request.skill, request.task.prompt
        if skill is None or self.mode == "discovery" or request.discovery is not None:
            return prompt
        folder = f"{self.table.skills}/{skill.name}"
        return _FORCED.format(name=skill.name, folder=folder, document=skill.document.text.strip(), prompt=prompt)

    def _is_of_task(self, path: str) -> bool:
        """Return whether a file is the task's, and not one that was put there for the agent."""
        return not path.startswith((".git/", f"{self.table.skills.partition('/')[0]}/"))

    def _loading(self, output: TableOutput, skill: Skill) -> str:
        """Note whether the skill reached the model; a forced one stands in its prompt."""
        loaded = True if self.mode == "forced" else output.loads(skill.name)
        told = {True: "yes", False: "no", None: f"unknown, {self.name} does not tell which tools it used"}[loaded]
        return f"skill {skill.name} loaded: {told} ({self.mode})"

    def _failed(self, request: RolloutRequest, ending: Ending) -> Trajectory:
        """Return what is known of a run that was not begun."""
        return Trajectory(
            (Message("user", request.task.prompt),), "", (), ending.status, ending.reason, Usage(0, 0, 0, 0.0)
        )

    @property
    def _priced_model(self) -> str:
        """Name the model as the table of prices does, without the name of who serves it."""
        return self.model.rpartition("/")[2]
