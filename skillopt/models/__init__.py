"""Optimizer models by name.

Owns the table of drivers and loading one on use. Does not own what models are asked (stages).
"""

from difflib import get_close_matches
from importlib import import_module
from typing import Final, cast

from skillopt.errors import SettingsError
from skillopt.ports import Model

__all__ = ["MODELS", "load_model"]

MODELS: Final = {"embedded": "skillopt.models.embedded:EmbeddedModel"}
"""Import path of each driver's factory."""


def load_model(name: str, seed: int = 0) -> Model:
    """Import a driver and build it.

    Args:
        name: A key of MODELS.
        seed: Seed of the draws that a model makes itself; a real one ignores it.

    Raises:
        SettingsError: There is no such driver.
    """
    if name not in MODELS:
        near = get_close_matches(name, MODELS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {sorted(MODELS)}"
        message = f"expected the name of a model, found {name!r}; {hint}"
        raise SettingsError(message)
    module, _, factory = MODELS[name].partition(":")
    return cast("Model", getattr(import_module(module), factory)(seed=seed))  # the table names only models
