"""Harnesses, which let a target do a task, and the table of all of them by name, imported on use.

The one of the demo is in the repository's benchmarks, and not in the installed package.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final, cast

from skillopt.agent_table import SHIPPED, AgentTable, find_agent_table
from skillopt.errors import SettingsError
from skillopt.protocols import Harness, Model
from skillopt.settings import Settings
from skillopt.targets.agents import AGENTS, expect_demo, load_part
from skillopt.targets.command_line.agreement import AgentTerms, expect_agreement, is_unsandboxed_by_file
from skillopt.targets.prices import guess_full_names

__all__ = ["HARNESSES", "HarnessDriver", "HarnessParts", "find_harness_driver", "load_harness", "runs_agent"]


@dataclass(frozen=True, slots=True)
class HarnessDriver:
    """Where a driver is, as `module:class`, and which of the HarnessParts its class takes."""

    path: str
    takes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HarnessParts:
    """What a harness can be made from."""

    settings: Settings
    folder: Path
    load_model: Callable[[str], Model]
    project: Path = Path()


HARNESSES = {
    "demo": HarnessDriver("benchmarks.demo.harness:DemoHarness", ("seed",)),
    "chat": HarnessDriver("skillopt.targets.chat:ChatHarness", ("target",)),
    **{name: HarnessDriver(agent.harness, agent.takes) for name, agent in AGENTS.items()},
    "handoff": HarnessDriver("skillopt.targets.handoff_harness:HandoffHarness", ("folder",)),
}
"""Every driver by name."""

_OF_TABLES: Final = HarnessDriver(
    "skillopt.targets.command_line.client:CommandLineHarness",
    ("name", "table", "project", "model", "mode", "prices", "sandbox"),
)
"""The driver of every agent that has a table."""

_PROVIDERS: Final = ("anthropic", "openai", "openai-compatible")
"""Names that are a model's and not a harness's: `chat/` before them makes one."""


def find_harness_driver(name: str, agents: Mapping[str, AgentTable]) -> HarnessDriver:
    """Find the driver of a harness by its name; nothing is imported."""
    kind, _, model = name.partition("/")
    table = find_agent_table(kind, agents)
    if kind not in HARNESSES and table is not None:
        _check_model(name, kind, model, table)
        return _OF_TABLES
    if kind not in HARNESSES:
        raise SettingsError(_unknown(name, kind, agents))
    expect_demo(kind)
    driver = HARNESSES[kind]
    if model and not {"model", "target"} & set(driver.takes):
        raise SettingsError(f"expected harness {kind!r} without a model, found {name!r}; leave out {'/' + model!r}")
    if not model and "target" in driver.takes:
        raise SettingsError(
            f"expected {kind}/PROVIDER/MODEL, as in {kind}/anthropic/claude-haiku-4-5, found {name!r}; add a model"
        )
    return driver


def load_harness(name: str, wanted: HarnessParts) -> Harness:
    """Import a driver and make a harness of it."""
    settings = wanted.settings
    driver, (kind, _, model) = find_harness_driver(name, settings.agents), name.partition("/")
    table = find_agent_table(kind, settings.agents)
    if driver is _OF_TABLES and table is not None:
        expect_agreement(AgentTerms(kind, table, wanted.project, settings.sandbox))
    if kind in AGENTS and settings.sandbox == "none" and is_unsandboxed_by_file(wanted.project):
        expect_agreement(AgentTerms(kind, None, wanted.project, settings.sandbox))
    options: dict[str, Callable[[], object]] = {
        "name": lambda: kind,
        "table": lambda: table,
        "project": lambda: wanted.project,
        "model": lambda: model,
        "mode": lambda: settings.skill_mode.value,
        "seed": lambda: settings.seed,
        "max_tokens": lambda: settings.rollout_tokens,
        "prices": lambda: settings.prices,
        "sandbox": lambda: settings.sandbox,
        "folder": lambda: wanted.folder,
        "target": lambda: wanted.load_model(model),
    }
    chosen = {option: options[option]() for option in driver.takes}
    return cast("Harness", load_part(driver.path)(**chosen))  # the table names only harnesses


def runs_agent(settings: Settings) -> bool:
    """Return whether the target is an agent, which may do whatever the sandbox lets it."""
    kind = settings.harness.partition("/")[0]
    return kind in AGENTS or find_agent_table(kind, settings.agents) is not None


def _check_model(name: str, kind: str, model: str, table: AgentTable) -> None:
    """Refuse a model for an agent that takes none, and none for one that needs one."""
    if model and not table.takes_model:
        raise SettingsError(
            f"expected harness {kind!r} without a model, found {name!r}; leave out {'/' + model!r}, or say in "
            f'[agents.{kind}] how it is chosen, as in model = ["--model", "{{model}}"]'
        )
    if not model and table.needs_model:
        raise SettingsError(f"expected {kind}/MODEL, found {name!r}; add a model, which its command names")


def _unknown(name: str, kind: str, agents: Mapping[str, AgentTable]) -> str:
    """Return what was expected in place of a name, and which name was probably meant."""
    provider, _, model = name.partition("/")
    full = (name,) if provider in _PROVIDERS and model else guess_full_names(name)
    if full:
        meant = " or ".join(repr(one if one.partition("/")[0] in AGENTS else f"chat/{one}") for one in full)
        return f"expected the name of a harness, found {name!r}; did you mean {meant}?"
    known = sorted({*HARNESSES, *SHIPPED, *agents})
    near = get_close_matches(kind, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known harnesses: {', '.join(known)}, or a table [agents.{kind}]"
    return f"expected the name of a harness, found {name!r}; {hint}"
