"""Every target and every model by name, imported on use; those of the demo are in the repository's benchmarks."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

from skillopt.agent_table import SHIPPED, AgentTable, find_agent_table
from skillopt.errors import SettingsError
from skillopt.protocols import Harness, Model
from skillopt.settings import Settings
from skillopt.targets.command_line.agreement import AgentTerms, expect_agreement, is_unsandboxed_by_file


@dataclass(frozen=True, slots=True)
class Agent:
    """What there is of an agent beside harness and model: its line for MCP, and parts as `module:name`."""

    register: str
    login: str
    sessions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Driver:
    """Where a driver is, as `module:class`, what its class takes, and whether its failed calls should be retried."""

    path: str
    takes: tuple[str, ...]
    retried: bool = False


AGENTS: Final[Mapping[str, Agent]] = {
    "claude-code": Agent(
        register="claude mcp add skillopt -- skillopt-mcp",
        login="skillopt.targets.claude_code.client:find_claude_login",
        sessions=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
    ),
    "codex": Agent(
        register="codex mcp add skillopt -- skillopt-mcp",
        login="skillopt.targets.codex.client:find_codex_login",
        sessions=("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"),
    ),
}
"""Every agent with a driver of its own."""

HARNESSES = {
    "demo": Driver("benchmarks.demo.harness:DemoHarness", ("seed", "model")),
    "chat": Driver("skillopt.targets.chat:ChatHarness", ("target",)),
    "claude-code": Driver(
        "skillopt.targets.claude_code.client:ClaudeCodeHarness", ("model", "mode", "prices", "sandbox")
    ),
    "codex": Driver("skillopt.targets.codex.client:CodexHarness", ("model", "mode", "max_tokens", "prices", "sandbox")),
}
"""Every harness by name; agents with a table have another driver."""

MODELS = {
    "anthropic": Driver("skillopt.targets.anthropic:AnthropicModel", ("model", "prices", "max_tokens"), retried=True),
    "claude-code": Driver("skillopt.targets.claude_code.client:ClaudeCodeModel", ("model", "prices")),
    "codex": Driver("skillopt.targets.codex.client:CodexModel", ("model", "prices")),
    "demo": Driver("benchmarks.demo.model:DemoModel", ("seed",)),
    "handoff": Driver("skillopt.targets.handoff:HandoffModel", ("folder",)),
    "openai": Driver("skillopt.targets.openai:OpenAIModel", ("model", "prices", "max_tokens"), retried=True),
    "openai-compatible": Driver(
        "skillopt.targets.openai:OpenAICompatibleModel", ("model", "prices", "base_url", "max_tokens"), retried=True
    ),
}
"""Every model by name; the command lines of agents retry failed calls by themselves."""

_OF_TABLES: Final = Driver(
    "skillopt.targets.command_line.client:CommandLineHarness",
    ("name", "table", "project", "model", "mode", "prices", "sandbox"),
)
_PROVIDERS: Final = ("anthropic", "openai", "openai-compatible")
"""Names that are a model's and not a harness's: `chat/` before them makes one."""


def load_part(path: str) -> Any:  # noqa: ANN401 - what it is, the table says
    """Import a part of a driver on use."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def find_harness_driver(name: str, agents: Mapping[str, AgentTable]) -> Driver:
    """Find the driver of a harness by its name; nothing is imported."""
    kind, _, model = name.partition("/")
    table = None if kind in HARNESSES else find_agent_table(kind, agents)
    if kind not in HARNESSES and table is None:
        known = sorted({*HARNESSES, *SHIPPED, *agents})
        near = [f"chat/{name}"] if kind in _PROVIDERS and model else get_close_matches(kind, known, n=1, cutoff=0.5)
        others = f"known harnesses: {', '.join(known)}, or a table [agents.{kind}]"
        hint = f"did you mean {near[0]!r}?" if near else others
        raise SettingsError(f"expected the name of a harness, found {name!r}; {hint}")
    _expect_demo(kind)
    driver = _OF_TABLES if table else HARNESSES[kind]
    takes = table.takes_model if table else bool({"model", "target"} & set(driver.takes))
    if model and not takes:
        how = f', or say in [agents.{kind}] how it is chosen, as in model = ["--model", "{{model}}"]' if table else ""
        raise SettingsError(
            f"expected harness {kind!r} without a model, found {name!r}; leave out {'/' + model!r}{how}"
        )
    if not model and (table.needs_model if table else "target" in driver.takes):
        form = "MODEL" if table else f"PROVIDER/MODEL, as in {kind}/anthropic/claude-haiku-4-5"
        raise SettingsError(f"expected {kind}/{form}, found {name!r}; add a model")
    return driver


def load_harness(settings: Settings, project: Path, folder: Path) -> Harness:
    """Import the driver of the target and make a harness of it."""
    driver, (kind, _, model) = find_harness_driver(settings.harness, settings.agents), settings.harness.partition("/")
    table = find_agent_table(kind, settings.agents)
    if driver is _OF_TABLES and table is not None:
        expect_agreement(AgentTerms(kind, table, project, settings.sandbox))
    if kind in AGENTS and settings.sandbox == "none" and is_unsandboxed_by_file(project):
        expect_agreement(AgentTerms(kind, None, project, settings.sandbox))
    options = {
        "name": kind,
        "table": table,
        "project": project,
        "model": model,
        "mode": settings.skill_mode.value,
        "seed": settings.seed,
        "max_tokens": settings.rollout_tokens,
        "prices": settings.prices,
        "sandbox": settings.sandbox,
        "target": load_model(model, settings, folder, target=True) if "target" in driver.takes else None,
    }
    chosen = {option: options[option] for option in driver.takes}
    return cast("Harness", load_part(driver.path)(**chosen))  # the table names only harnesses


def find_model_driver(name: str) -> Driver:
    """Find the driver of a model by its name; nothing is imported."""
    kind, _, model = name.partition("/")
    if kind not in MODELS:
        near = get_close_matches(kind, MODELS, n=1)
        whole = ", ".join(repr(f"{provider}/{model or name}") for provider in _PROVIDERS)
        hint = (
            f"did you mean {near[0]!r}?" if near else f"choose its provider, as in {whole}, or one of {sorted(MODELS)}"
        )
        raise SettingsError(f"expected provider/model, found {name!r}; {hint}")
    _expect_demo(kind)
    if model and "model" not in MODELS[kind].takes:
        raise SettingsError(
            f"expected model {kind!r} without a further name, found {name!r}; leave out {'/' + model!r}"
        )
    return MODELS[kind]


def load_model(
    name: str, settings: Settings, folder: Path = Path(".skillopt/handoff"), *, target: bool = False
) -> Model:
    """Import a driver and make a model of it."""
    driver = find_model_driver(name)
    options = {
        "model": name.partition("/")[2],
        "prices": settings.prices,
        "base_url": settings.base_url or None,
        "max_tokens": settings.rollout_tokens if target else None,
        "seed": settings.seed,
        "folder": folder,
    }
    chosen = {option: options[option] for option in driver.takes if options[option] is not None}
    return cast("Model", load_part(driver.path)(**chosen))  # the table names only models


def runs_agent(settings: Settings) -> bool:
    """Return whether the target is an agent, which may do whatever the sandbox lets it."""
    kinds = [name.partition("/")[0] for name in settings.targets]
    return any(kind in AGENTS or find_agent_table(kind, settings.agents) is not None for kind in kinds)


def _expect_demo(kind: str) -> None:
    if kind == "demo" and (find_spec("benchmarks") is None or find_spec("benchmarks.demo") is None):
        raise SettingsError(
            'expected a harness and a model that are installed, found "demo", which only a clone of the repository '
            "has; choose others with `skillopt init`, or run `make demo` in a clone"
        )
