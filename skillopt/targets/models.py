"""Models that answer prompts; one file per provider, imported on use.

What is asked of them is in prompts; the one of the demo is in the repository's benchmarks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final, cast

from skillopt.errors import SettingsError
from skillopt.protocols import Model
from skillopt.settings import Settings
from skillopt.targets.agents import AGENTS, expect_demo, load_part
from skillopt.targets.prices import guess_full_names

__all__ = ["MODELS", "ModelDriver", "find_model_driver", "load_model"]


@dataclass(frozen=True, slots=True)
class ModelDriver:
    """Where a driver is, as `module:class`, what its class takes, and whether its failed calls should be retried."""

    path: str
    takes: tuple[str, ...]
    retried: bool = False


MODELS: Final = {
    "anthropic": ModelDriver(
        "skillopt.targets.anthropic:AnthropicModel", ("model", "prices", "max_tokens"), retried=True
    ),
    **{name: ModelDriver(agent.model, ("model", "prices")) for name, agent in AGENTS.items()},
    "demo": ModelDriver("benchmarks.demo.model:DemoModel", ("seed",)),
    "handoff": ModelDriver("skillopt.targets.handoff_model:HandoffModel", ("folder",)),
    "openai": ModelDriver("skillopt.targets.openai:OpenAIModel", ("model", "prices", "max_tokens"), retried=True),
    "openai-compatible": ModelDriver(
        "skillopt.targets.openai_compatible:OpenAICompatibleModel",
        ("model", "prices", "base_url", "max_tokens"),
        retried=True,
    ),
}
"""Every driver by name; the command lines of agents retry failed calls by themselves."""


def find_model_driver(name: str) -> ModelDriver:
    """Find the driver of a model by its name; nothing is imported."""
    kind, _, model = name.partition("/")
    if kind not in MODELS:
        raise SettingsError(_unknown(name, kind))
    expect_demo(kind)
    if model and "model" not in MODELS[kind].takes:
        raise SettingsError(
            f"expected model {kind!r} without a further name, found {name!r}; leave out {'/' + model!r}"
        )
    return MODELS[kind]


def load_model(
    name: str, settings: Settings, folder: Path = Path(".skillopt/handoff"), *, target: bool = False
) -> Model:
    """Import a driver and make a model of it."""
    driver, (_, _, model) = find_model_driver(name), name.partition("/")
    options: dict[str, Callable[[], object]] = {
        "model": lambda: model,
        "prices": lambda: settings.prices,
        "base_url": lambda: settings.base_url or None,
        "max_tokens": lambda: settings.rollout_tokens if target else None,
        "seed": lambda: settings.seed,
        "folder": lambda: folder,
    }
    made = {option: options[option]() for option in driver.takes}
    chosen = {option: value for option, value in made.items() if value is not None}
    return cast("Model", load_part(driver.path)(**chosen))  # the table names only models


def _unknown(name: str, kind: str) -> str:
    """Return what was expected in place of a name, and which name was probably meant."""
    full = guess_full_names(name)
    if full:
        return f"expected provider/model, found {name!r}; did you mean {' or '.join(map(repr, full))}?"
    near = get_close_matches(kind, MODELS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {sorted(MODELS)}"
    return f"expected the name of a model, found {name!r}; {hint}"
