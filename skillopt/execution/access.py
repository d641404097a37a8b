"""What can do tasks on this machine, and with which key or login: names, never values.

Agents are found by their programs, and keys by the names of their variables.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from skillopt.agent_table import AgentTable, find_agent_table
from skillopt.errors import SettingsError
from skillopt.settings import Settings
from skillopt.targets.command_line.client import find_table_login
from skillopt.targets.drivers import AGENTS, load_part
from skillopt.targets.process import first_set
from skillopt.tasks import Suite

__all__ = [
    "Choice",
    "expect_chosen",
    "find_choices",
    "find_login",
    "given_keys",
    "missing_access",
    "nested_session",
    "toml_lines",
]

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
}

_CLIENTS: Final = {
    "claude-code": ("Claude Code", "claude"),
    "codex": ("Codex", "codex"),
    "opencode": ("OpenCode", "opencode"),
    "gemini": ("Gemini CLI", "gemini"),
    "copilot": ("Copilot CLI", "copilot"),
}
"""Harness → the agent's name for people, and its program."""

_KEYED: Final = {
    "anthropic": ("Anthropic's API", "claude-haiku-4-5", "claude-sonnet-5"),
    "openai": ("OpenAI's API", "gpt-5-mini", "gpt-5.4"),
}
"""Provider → its name for people, a model that is cheap to run as the target, and a stronger one to propose edits."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to run tasks and to ask an optimizer model."""

    label: str
    harness: str
    model: str
    missing: str = ""


def find_choices() -> tuple[Choice, ...]:
    """List what was found here: what is ready before what is not, agents before keys."""
    found = [*_agents(own=True), *_keys()]
    proposer = next((choice for choice in found if not choice.missing), None)
    alone = "it proposes no edits, so an optimizer model is needed too, and none was found"
    for choice in _agents(own=False):
        more = {"model": proposer.model} if proposer else {"model": "claude-code", "missing": alone}
        found.append(replace(choice, **more))
    return tuple(sorted(found, key=lambda choice: bool(choice.missing)))


def toml_lines(choice: Choice) -> tuple[str, ...]:
    """Return the lines of skillopt.toml that choose it."""
    return (f'harness = "{choice.harness}"', f'model = "{choice.model}"')


def expect_chosen(settings: Settings, *, harness: bool, model: bool) -> None:
    """Refuse to go on without a target or an optimizer model: the demo is never used in silence."""
    wanted = {"harness": harness and not settings.harness, "model": model and not settings.model}
    unset = [name for name, is_unset in wanted.items() if is_unset]
    if not unset:
        return
    choices = find_choices()
    lines = [
        f"expected {' and '.join(unset)} in skillopt.toml, found none; choose with `skillopt init`, or write there"
    ]
    for choice in choices:
        lines.append(f"  # {choice.label}{f': {choice.missing}' if choice.missing else ''}")
        lines += [f"  {line}" for line in toml_lines(choice) if line.split(" ")[0] in unset]
    if not choices:
        lines.append('  harness = "claude-code"   # or codex, chat/anthropic/MODEL, … (skillopt docs architecture)')
        lines.append('  model = "claude-code"')
        lines.append("no agent or API key was found on this machine")
    lines.append(
        '(harness = "demo", model = "demo": a program that understands table rules only, not a language model)'
    )
    raise SettingsError("\n".join(lines))


def find_login(driver: str, agents: Mapping[str, AgentTable] | None = None) -> tuple[bool, str]:
    """Return whether a driver has its credential and where it comes from, or how to get one."""
    if driver in AGENTS:
        find = cast("Callable[[], tuple[bool, str]]", load_part(AGENTS[driver].login))  # so the table says
        return find()
    table = find_agent_table(driver, agents or {})
    if table is not None:
        return find_table_login(table)
    if driver not in _KEYS:
        return True, "needs no credential"
    named = first_set(*_KEYS[driver])
    if named is None:
        return False, f"expected a key in {_KEYS[driver][0]}, found none; set it"
    return True, f"credential from {named[0]}"


def given_keys(harness: str, agents: Mapping[str, AgentTable]) -> str:
    """Say which key the agent that does the tasks is given, and which hosts it may give it to; empty for no agent."""
    kind = harness.partition("/")[0]
    if kind not in AGENTS and find_agent_table(kind, agents) is None:
        return ""
    ready, found = find_login(kind, agents)
    if not ready:
        return found
    return f"gives {kind} the {found}" if kind in AGENTS else found.rpartition("; ")[2]


def missing_access(settings: Settings, suite: Suite, *, trains: bool = False) -> str:
    """Return what is not there to measure a suite with: a judge, or the key of a target or judge; empty for nothing.

    Agents find their logins in many ways, so they are asked by running them.
    """
    roles = _roles(settings, suite, trains=trains)
    if roles.get("judge", "a model") in {"", "demo"}:
        return "its tasks have rubrics, and there is no model to judge them; set judge"
    for role, name in roles.items():
        ready, told = find_login(name.partition("/")[0]) if name.partition("/")[0] in _KEYS else (True, "")
        if not ready:
            return f"for the {role} {name}, {told}"
    return ""


def _roles(settings: Settings, suite: Suite, *, trains: bool) -> dict[str, str]:
    """Return the models that a command asks by what for, but for those of agents as targets."""
    kind, _, target = settings.harness.partition("/")
    roles = {"target": target} if kind == "chat" else {}
    if trains:
        roles["optimizer model"] = settings.model
    if any(task.verifier.judged for _, task in suite.splits):
        roles["judge"] = settings.judge or settings.model
    return roles


def nested_session() -> str:
    """Name the environment variables of the agent session that this program was started in; empty for none."""
    return ", ".join(name for agent in AGENTS.values() for name in agent.sessions if os.environ.get(name))


def _agents(*, own: bool) -> Iterator[Choice]:
    """Find agents by their programs: those with a driver of their own, which propose edits too, or the others."""
    for name, (label, program) in _CLIENTS.items():
        if (name in AGENTS) is own and shutil.which(program):
            ready, told = find_login(name)
            yield Choice(f"{label} ({program} on the PATH)", name, name, missing="" if ready else told)


def _keys() -> Iterator[Choice]:
    for provider, (label, target, optimizer) in _KEYED.items():
        ready, told = find_login(provider)
        if ready:
            source = told.removeprefix("credential from ")
            yield Choice(f"{label} ({source} is set)", f"chat/{provider}/{target}", f"{provider}/{optimizer}")
