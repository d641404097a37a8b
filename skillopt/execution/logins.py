"""Find the credentials of models and agents: whether there is one and from where, never its value."""

import os
from collections.abc import Callable, Mapping
from typing import Final, cast

from skillopt.agent_table import AgentTable, find_agent_table
from skillopt.settings import Settings
from skillopt.targets.command_line.client import find_table_login
from skillopt.targets.drivers import AGENTS, load_part
from skillopt.targets.process import first_set
from skillopt.tasks import Suite

__all__ = ["find_login", "given_keys", "missing_access", "nested_session"]

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
}


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
