"""Optimizer models by name.

Owns the table of drivers and making a model from a name, `driver` or `driver/model`. Does not own
what models are asked (stages).
"""

from difflib import get_close_matches
from importlib import import_module
from typing import Final, cast

from skillopt.errors import SettingsError
from skillopt.ports import Model

__all__ = ["MODELS", "load_model"]

MODELS: Final = {
    "embedded": "skillopt.models.embedded:EmbeddedModel",
    "claude-code": "skillopt.models.claude_code:ClaudeCodeModel",
    "codex": "skillopt.models.codex:CodexModel",
}
"""Name → `module:class` of every driver."""


def load_model(name: str, seed: int = 0) -> Model:
    """Import a driver and make a model of it.

    Args:
        name: One of MODELS, with `/model` behind it to choose which.
        seed: Seed of the draws that a driver makes itself; a real model has none.

    Raises:
        SettingsError: There is no such driver, or it has no models to choose from.
    """
    kind, _, model = name.partition("/")
    if kind not in MODELS:
        near = get_close_matches(kind, MODELS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {sorted(MODELS)}"
        message = f"expected the name of a model, found {name!r}; {hint}"
        raise SettingsError(message)
    if model and kind == "embedded":
        raise SettingsError(
            f"expected model {kind!r} without a further name, found {name!r}; leave out {'/' + model!r}"
        )
    module, _, factory = MODELS[kind].partition(":")
    make = getattr(import_module(module), factory)
    return cast("Model", make(seed=seed) if kind == "embedded" else make(model))  # the table names only models
