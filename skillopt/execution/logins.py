"""Find the credentials of models and agents: whether there is one and from where, never its value.

Nothing is asked over the network.
"""

import os
from collections.abc import Callable, Mapping
from typing import Final, cast

from skillopt.agent_tables.shipped import find_agent_table
from skillopt.agent_tables.table import AgentTable
from skillopt.agents import AGENTS, load_part
from skillopt.agents.command_line.program import find_table_login
from skillopt.agents.process import first_set
from skillopt.settings import Settings
from skillopt.tasks import Suite

__all__ = ["find_login", "given_keys", "missing_access", "nested_session"]

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
}


def find_login(driver: str, agents: Mapping[str, AgentTable] | None = None) -> tuple[bool, str]:
    """Tell whether a driver has its credential and where it comes from, or how to get one.

    Args:
        driver: Name of a model's or harness's driver; one that needs no login has one.
        agents: The tables of skillopt.toml; None for those that are shipped.
    """
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
    """Say which key the agent that does the tasks is given, and which hosts it may give it to; empty for no agent.

    Args:
        harness: As the settings name it.
        agents: The tables of skillopt.toml.
    """
    kind = harness.partition("/")[0]
    if kind not in AGENTS and find_agent_table(kind, agents) is None:
        return ""
    ready, found = find_login(kind, agents)
    if not ready:
        return found
    return f"gives {kind} the {found}" if kind in AGENTS else found.rpartition("; ")[2]


def missing_access(settings: Settings, suite: Suite, *, trains: bool = False) -> str:
    """Say what is not there to measure a suite with: a judge, or the key of a target or judge; empty for nothing.

    Agents find their logins in many ways, so they are asked by running them.

    Args:
        settings: Name target and judge.
        suite: Its tasks tell whether a judge is needed.
        trains: Whether the optimizer model is asked, too.
    """
    kind, _, target = settings.harness.partition("/")
    roles = {"target": target} if kind == "chat" else {}
    if trains:
        roles["optimizer model"] = settings.model
    if any(task.verifier.judged for _, task in suite.splits):
        roles["judge"] = settings.judge or settings.model
        if roles["judge"] in {"", "demo"}:
            return "its tasks have rubrics, and there is no model to judge them; set judge"
    for role, name in roles.items():
        ready, told = find_login(name.partition("/")[0]) if name.partition("/")[0] in _KEYS else (True, "")
        if not ready:
            return f"for the {role} {name}, {told}"
    return ""


def nested_session() -> str:
    """Name the environment variables of the agent session that this program was started in; empty for none."""
    return ", ".join(name for agent in AGENTS.values() for name in agent.sessions if os.environ.get(name))
