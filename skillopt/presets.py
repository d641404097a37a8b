"""Presets, and settings built from layers: defaults < preset < file < environment < flags."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final, get_origin

from pydantic import ValidationError

from skillopt.errors import SettingsError
from skillopt.settings import (
    AdvancedSettings,
    ExecutorSettings,
    GateRule,
    Metric,
    NightlySettings,
    Preset,
    Settings,
    TargetSettings,
)

__all__ = ["PRESETS", "TABLES", "flatten_tables", "make_settings", "read_setting"]

PRESETS: Final[Mapping[Preset, Mapping[str, object]]] = {
    Preset.DEFAULT: {},
    # The published loop and defaults (microsoft/SkillOpt at bdfdc30), with the slow update gated as
    # in the paper's own checkpoints. A batch of 40 becomes the whole split when that is smaller.
    Preset.PAPER: {
        "epochs": 4,
        "batch_size": 40,
        "minibatch_size": 8,
        "edit_budget": 4,
        "min_edits": 2,
        "token_budget": 0,
        "scan_leaks": False,
        "name_failures": False,
        "suspect_share": 0.0,
        "proposal_groups": 1,
        "patch_tests": 0,
        "metric": Metric.HARD,
        "gate": GateRule.STRICT,
        "baseline_repeats": 1,
        "slow_tasks": 20,
        "patience": 0,
    },
}


def _tables() -> dict[str, str]:
    """Return by the name of a setting the table of skillopt.toml that it stands in, empty for the top."""
    found: dict[str, str] = {}
    for name, field in Settings.model_fields.items():
        if field.annotation in (ExecutorSettings, TargetSettings, NightlySettings):
            found |= dict.fromkeys(field.annotation.model_fields, name)
        else:
            found[name] = "advanced" if name in AdvancedSettings.model_fields else ""
    return found


TABLES: Final = MappingProxyType(_tables())
"""Setting → table of skillopt.toml, empty for the top; names are unique over all tables."""


def flatten_tables(origin: str, values: Mapping[str, object]) -> dict[str, object]:
    """Read the settings of a file, each in the table it belongs to, as names and values."""
    found: dict[str, object] = {}
    for place, name, value in _placed(origin, values):
        if name not in TABLES:
            raise SettingsError(_unknown(f"{origin} [{place}]" if place else origin, name))
        if TABLES[name] != place:
            expected = f"in [{TABLES[name]}]" if TABLES[name] else "at the top, before every [table]"
            where = f"in [{place}]" if place else "at the top"
            raise SettingsError(f"{origin}: expected {name} {expected}, found it {where}")
        found[name] = value
    return found


def read_setting(name: str, text: str) -> object:
    """Read the value of a setting where it is one text: values of a list stand apart by commas.

    >>> read_setting("labels", "skills,bot"), read_setting("epochs", "3")
    (('skills', 'bot'), '3')
    """
    own = TABLES.get(name, "")
    table = Settings.model_fields[own].annotation if own in Settings.model_fields else Settings
    field = table.model_fields.get(name) if table is not None else None
    is_list = field is not None and get_origin(field.annotation) is tuple
    return tuple(filter(None, (one.strip() for one in text.split(",")))) if is_list else text


def make_settings(*layers: tuple[str, Mapping[str, object]]) -> Settings:
    """Build settings from layers, later ones winning, over the preset that the last layer names."""
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        for name, value in layer.items():
            if name not in TABLES:
                raise SettingsError(_unknown(origin, name))
            values[name], origins[name] = value, origin
    preset = values.get("preset", Preset.DEFAULT)
    known = {member.value: chosen for member, chosen in PRESETS.items()}
    try:
        settings = Settings.model_validate(_nested({**known.get(str(preset), {}), **values}))
    except ValidationError as error:
        raise SettingsError(_invalid(error, origins)) from error
    if settings.min_edits > settings.edit_budget:
        message = f"expected min_edits ≤ edit_budget, found {settings.min_edits} > {settings.edit_budget}"
        raise SettingsError(message)
    return settings


def _placed(origin: str, values: Mapping[str, object]) -> Iterator[tuple[str, str, object]]:
    """Yield (table, name, value); the top has no name."""
    for key, value in values.items():
        if key not in TABLES.values():
            yield "", key, value
        elif isinstance(value, Mapping):
            yield from ((key, name, inner) for name, inner in value.items())
        else:
            names = ", ".join(name for name, table in TABLES.items() if table == key)
            raise SettingsError(
                f"{origin}: expected the table [{key}], found {key} = {value!r}; write [{key}] on a line of its own "
                f"and below it one of its settings: {names}"
            )


def _nested(values: Mapping[str, object]) -> dict[str, object]:
    """Put the settings of tables that are models of their own below their table."""
    own = {"executor", "target", "nightly"}
    tables: dict[str, dict[str, object]] = {table: {} for table in own}
    for name, value in values.items():
        if TABLES[name] in own:
            tables[TABLES[name]][name] = value
    return {name: value for name, value in values.items() if TABLES[name] not in own} | tables


def _unknown(origin: str, name: str) -> str:
    near = get_close_matches(name, TABLES, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known settings: {', '.join(TABLES)}"
    return f"{origin}: unknown setting {name!r}; {hint}"


def _invalid(error: ValidationError, origins: Mapping[str, str]) -> str:
    first = error.errors(include_url=False)[0]
    key = next(str(part) for part in first["loc"] if str(part) in TABLES)
    wrong = f"{first['msg']}, found {first['input']!r}"
    if first["type"] == "greater_than" and first["ctx"] == {"gt": 0}:  # caps, where 0 could be taken for no cap
        wrong = f"expected a number above 0, found {first['input']!r}; leave it out for no cap"
    return f"{origins.get(key, 'defaults')}: {key}: {wrong}"
