"""The presets, and settings built as defaults < preset < file < environment < flags.

Owns which settings a preset names and what contradicts itself. Does not own the settings (settings) or finding the
file or the environment (project).
"""

from collections.abc import Mapping
from difflib import get_close_matches

from pydantic import ValidationError

from skillopt.errors import SettingsError
from skillopt.settings import GateRule, Metric, Preset, Schedule, Settings

__all__ = ["PRESETS", "make_settings"]

PRESETS: Mapping[Preset, Mapping[str, object]] = {
    Preset.DEFAULT: {},
    # The published loop and defaults (microsoft/SkillOpt at bdfdc30), with the slow update gated as
    # in the paper's own checkpoints. A batch of 40 becomes the whole split when that is smaller.
    Preset.PAPER: {
        "epochs": 4,
        "batch_size": 40,
        "minibatch_size": 8,
        "merge_size": 8,
        "edit_budget": 4,
        "min_edits": 2,
        "token_budget": 0,
        "schedule": Schedule.COSINE,
        "scan_leaks": False,
        "name_failures": False,
        "suspect_share": 0.0,
        "proposal_groups": 1,
        "reflections": 1,
        "screen_rollouts": 0,
        "trust_noise": 0,
        "gate_edits": 1,
        "baseline_tasks": 0,
        "metric": Metric.HARD,
        "gate": GateRule.STRICT,
        "baseline_repeats": 1,
        "slow_tasks": 20,
        "meta_update": True,
        "patience": 0,
    },
}


def make_settings(*layers: tuple[str, Mapping[str, object]]) -> Settings:
    """Build settings from layers, later ones winning, over the preset that the last layer names.

    Args:
        layers: (origin, values) pairs; the origin (a file, `environment`, `flags`) is named in errors.

    Raises:
        SettingsError: A key is unknown, or a value does not fit.
    """
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        for key, value in layer.items():
            if key not in Settings.model_fields:
                raise SettingsError(_unknown(origin, key))
            values[key], origins[key] = value, origin
    preset = values.get("preset", Preset.DEFAULT)
    known = {member.value: chosen for member, chosen in PRESETS.items()}
    try:
        settings = Settings.model_validate({**known.get(str(preset), {}), **values})
    except ValidationError as error:
        raise SettingsError(_invalid(error, origins)) from error
    if settings.min_edits > settings.edit_budget:
        message = f"expected min_edits ≤ edit_budget, found {settings.min_edits} > {settings.edit_budget}"
        raise SettingsError(message)
    return settings


def _unknown(origin: str, key: str) -> str:
    near = get_close_matches(key, Settings.model_fields, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known settings: {', '.join(Settings.model_fields)}"
    return f"{origin}: unknown setting {key!r}; {hint}"


def _invalid(error: ValidationError, origins: Mapping[str, str]) -> str:
    first = error.errors(include_url=False)[0]
    key = str(first["loc"][0])
    return f"{origins.get(key, 'defaults')}: {key}: {first['msg']}, found {first['input']!r}"
