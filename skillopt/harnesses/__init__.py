"""Harnesses: how the target is run. One file per driver, imported on use."""

from difflib import get_close_matches
from importlib import import_module
from typing import cast

from skillopt.errors import SettingsError
from skillopt.ports import Harness

__all__ = ["HARNESSES", "load_harness"]

HARNESSES = {
    "embedded": "skillopt.harnesses.embedded:EmbeddedHarness",
}
"""Name → `module:class` of every driver."""


def load_harness(name: str, seed: int = 0) -> Harness:
    """Import a driver and make a harness of it.

    Args:
        name: One of HARNESSES.
        seed: Seed of the draws that a harness makes itself; a real target ignores it.

    Raises:
        SettingsError: There is no harness of that name.
    """
    if name not in HARNESSES:
        near = get_close_matches(name, HARNESSES, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known harnesses: {', '.join(sorted(HARNESSES))}"
        raise SettingsError(f"expected the name of a harness, found {name!r}; {hint}")
    module, _, driver = HARNESSES[name].partition(":")
    return cast("Harness", getattr(import_module(module), driver)(seed=seed))  # the table names only harnesses
