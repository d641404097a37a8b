"""Find the credentials of models and agents: whether there is one and from where, never its value.

Nothing is asked over the network.
"""

import os
from collections.abc import Callable, Mapping
from typing import Final, cast

from skillopt.agents import AGENTS, load_part
from skillopt.agents.process import first_set

__all__ = ["find_login", "nested_session"]

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
}


def find_login(driver: str) -> tuple[bool, str]:
    """Tell whether a driver has its credential and where it comes from, or how to get one.

    Args:
        driver: Name of a model's or harness's driver; one that needs no login has one.
    """
    if driver in AGENTS:
        find = cast("Callable[[], tuple[bool, str]]", load_part(AGENTS[driver].login))  # so the table says
        return find()
    if driver not in _KEYS:
        return True, "needs no credential"
    named = first_set(*_KEYS[driver])
    if named is None:
        return False, f"expected a key in {_KEYS[driver][0]}, found none; set it"
    return True, f"credential from {named[0]}"


def nested_session() -> str:
    """Name the environment variables of the agent session that this program was started in; empty for none."""
    return ", ".join(name for agent in AGENTS.values() for name in agent.sessions if os.environ.get(name))
