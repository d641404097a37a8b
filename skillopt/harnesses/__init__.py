"""Harnesses, which let a target do a task, and the table of all of them by name, imported on use.

Those that run an agent's command line are in agents, and the one for the demo is in demo.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from skillopt.agents import AGENTS
from skillopt.errors import SettingsError
from skillopt.prices import guess_full_names
from skillopt.protocols import Harness, Model
from skillopt.settings import Settings

__all__ = ["HARNESSES", "HarnessDriver", "HarnessParts", "find_harness_driver", "load_harness"]


@dataclass(frozen=True, slots=True)
class HarnessDriver:
    """Where a driver is, as `module:class`, and which of the HarnessParts its class takes."""

    path: str
    takes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HarnessParts:
    """What a harness can be made from.

    Args:
        settings: The run's settings.
        folder: Where rollouts are handed off.
        load_model: Makes a model of a name, for harnesses that talk to one.
    """

    settings: Settings
    folder: Path
    load_model: Callable[[str], Model]


HARNESSES = {
    "demo": HarnessDriver("skillopt.demo.harness:DemoHarness", ("seed",)),
    "chat": HarnessDriver("skillopt.harnesses.chat:ChatHarness", ("target",)),
    **{name: HarnessDriver(agent.harness, agent.takes) for name, agent in AGENTS.items()},
    "handoff": HarnessDriver("skillopt.harnesses.handoff:HandoffHarness", ("folder",)),
}
"""Every driver by name."""

_PROVIDERS: Final = ("anthropic", "openai", "openai-compatible")
"""Names that are a model's and not a harness's: `chat/` before them makes one."""


def find_harness_driver(name: str) -> HarnessDriver:
    """Find the driver of a harness by its name; nothing is imported.

    Raises:
        SettingsError: There is no harness of that name, or it has no models to choose from.
    """
    kind, _, model = name.partition("/")
    if kind not in HARNESSES:
        raise SettingsError(_unknown(name, kind))
    driver = HARNESSES[kind]
    if model and not {"model", "target"} & set(driver.takes):
        raise SettingsError(f"expected harness {kind!r} without a model, found {name!r}; leave out {'/' + model!r}")
    if not model and "target" in driver.takes:
        raise SettingsError(
            f"expected {kind}/PROVIDER/MODEL, as in {kind}/anthropic/claude-haiku-4-5, found {name!r}; add a model"
        )
    return driver


def load_harness(name: str, wanted: HarnessParts) -> Harness:
    """Import a driver and make a harness of it.

    Args:
        name: One of HARNESSES, with `/model` behind it to choose the target's model.
        wanted: What it is made of.

    Raises:
        SettingsError: There is no harness of that name, or it has no models to choose from.
    """
    driver, (_, _, model) = find_harness_driver(name), name.partition("/")
    settings = wanted.settings
    options: dict[str, Callable[[], object]] = {
        "model": lambda: model,
        "mode": lambda: settings.skill_mode.value,
        "seed": lambda: settings.seed,
        "max_usd": lambda: settings.rollout_usd or None,
        "max_tokens": lambda: settings.rollout_tokens or None,
        "prices": lambda: settings.prices,
        "sandbox": lambda: settings.sandbox,
        "folder": lambda: wanted.folder,
        "target": lambda: wanted.load_model(model),
    }
    module, _, factory = driver.path.partition(":")
    chosen = {option: options[option]() for option in driver.takes}
    return cast("Harness", getattr(import_module(module), factory)(**chosen))  # the table names only harnesses


def _unknown(name: str, kind: str) -> str:
    """Say what was expected in place of a name, and which name was probably meant."""
    if kind == "embedded":
        return "'embedded' is called 'demo' now; rename it"
    provider, _, model = name.partition("/")
    full = (name,) if provider in _PROVIDERS and model else guess_full_names(name)
    if full:
        meant = " or ".join(repr(one if one.partition("/")[0] in AGENTS else f"chat/{one}") for one in full)
        return f"expected the name of a harness, found {name!r}; did you mean {meant}?"
    near = get_close_matches(kind, HARNESSES, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known harnesses: {', '.join(sorted(HARNESSES))}"
    return f"expected the name of a harness, found {name!r}; {hint}"
