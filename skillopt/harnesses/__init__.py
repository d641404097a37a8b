"""Harnesses: how the target is run. One file per driver, imported on use.

Owns the table of drivers and making a harness from a name, `driver` or `driver/model`. Does not own
running anything.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import cast

from skillopt.errors import SettingsError
from skillopt.ports import Harness

__all__ = ["HARNESSES", "Driver", "load_harness"]


@dataclass(frozen=True, slots=True)
class Driver:
    """Where a driver is, as `module:class`, and which of model, mode and seed its class takes."""

    path: str
    takes: tuple[str, ...]


HARNESSES = {
    "embedded": Driver("skillopt.harnesses.embedded:EmbeddedHarness", ("seed",)),
    "claude-code": Driver("skillopt.harnesses.claude_code:ClaudeCodeHarness", ("model", "mode")),
    "codex": Driver("skillopt.harnesses.codex:CodexHarness", ("model", "mode")),
}
"""Every driver by name."""


def load_harness(name: str, seed: int = 0, mode: str = "forced") -> Harness:
    """Import a driver and make a harness of it.

    Args:
        name: One of HARNESSES, with `/model` behind it to choose the target's model.
        seed: Seed of the draws that a harness makes itself; a real target has none.
        mode: How the skill reaches an agent: `forced` or `discovery`.

    Raises:
        SettingsError: There is no harness of that name, or it has no models to choose from.
    """
    kind, _, model = name.partition("/")
    if kind not in HARNESSES:
        near = get_close_matches(kind, HARNESSES, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known harnesses: {', '.join(sorted(HARNESSES))}"
        raise SettingsError(f"expected the name of a harness, found {name!r}; {hint}")
    driver = HARNESSES[kind]
    if model and "model" not in driver.takes:
        raise SettingsError(f"expected harness {kind!r} without a model, found {name!r}; leave out {'/' + model!r}")
    options: dict[str, object] = {"model": model, "mode": mode, "seed": seed}
    module, _, factory = driver.path.partition(":")
    chosen = {option: options[option] for option in driver.takes}
    return cast("Harness", getattr(import_module(module), factory)(**chosen))  # the table names only harnesses
