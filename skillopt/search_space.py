"""Which settings a search may turn, and how far.

Owns the dials, their default ranges, reading them from a file's text, and that both ends of every dial are
settings that a run accepts. Does not own choosing values (tuning) or what a setting means (settings).
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from json import dumps
from typing import Annotated, Final, assert_never

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.errors import SettingsError
from skillopt.presets import make_settings
from skillopt.settings import Settings

__all__ = [
    "DEFAULT_SPACE",
    "Choices",
    "Dial",
    "Range",
    "Space",
    "Value",
    "applied",
    "as_toml",
    "nearest",
    "overrides",
    "read_space",
    "space_of_names",
    "start_values",
]

Value = int | float | str | bool
"""What a dial can be set to."""


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from one to another.

    Args:
        low: The least.
        high: The greatest.
        step: Distance between neighbours; None for any number between.
        log: Whether factors count instead of differences.
    """

    low: float
    high: float
    step: float | None = 1
    log: bool = False

    @property
    def whole(self) -> bool:
        """Tell whether these are whole numbers."""
        return self.step is not None and all(float(number).is_integer() for number in (self.low, self.high, self.step))


@dataclass(frozen=True, slots=True)
class Choices:
    """A few values without an order."""

    options: tuple[Value, ...]


Dial = Range | Choices
Space = Mapping[str, Dial]

# What decides the price of a gain: how an edit is tried alone, how much is proposed, when and how the gate looks.
DEFAULT_SPACE: Final[Space] = {
    "epochs": Range(2, 8),
    "batch_size": Range(8, 48, 4),
    "minibatch_size": Range(2, 16, 2),
    "edit_budget": Range(2, 24, 2),
    "reflections": Range(1, 6),
    "screen_trials": Range(0, 8),
    "screen_tasks": Range(1, 8),
    "screen_confidence": Range(0.5, 0.95, 0.05),
    "gate_patience": Range(1, 12),
    "gate_batch": Range(2, 12, 2),
    "gate_rounds": Range(1, 5),
    "baseline_tasks": Range(4, 24, 4),
    "patience": Range(1, 4),
}
"""The dials that are turned when none are named."""

# A search over one of these would compare what cannot be compared: other targets, other scores, or other promises.
_FIXED: Final = frozenset(
    (
        *("preset", "harness", "model", "judge", "base_url", "skill_mode", "sandbox", "seed", "metric", "workers"),
        *("confidence", "coverage", "allow", "scan_leaks", "prices", "breaker", "retry_seconds"),
        *("max_rollouts", "max_calls", "max_usd", "max_tokens", "max_minutes", "rollout_usd", "rollout_tokens"),
    )
)


class _Written(BaseModel):
    """A dial as a file has it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    low: int | float | None = None
    high: int | float | None = None
    step: Annotated[int | float, Field(gt=0)] | None = None
    log: bool = False
    choices: Annotated[tuple[Value, ...], Field(strict=False, min_length=1)] | None = None


def space_of_names(names: Iterable[str]) -> Space:
    """Take dials with their default ranges.

    Raises:
        SettingsError: One has no default range.
    """
    chosen: dict[str, Dial] = {}
    for name in names:
        if name not in DEFAULT_SPACE:
            near = get_close_matches(name, DEFAULT_SPACE, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"with a range of their own: {', '.join(DEFAULT_SPACE)}"
            message = f"--space: {name!r} has no default range; {hint}; give others a range in a file, NAME.toml"
            raise SettingsError(message)
        chosen[name] = DEFAULT_SPACE[name]
    return chosen


def read_space(text: str, origin: str) -> Space:
    """Read dials from TOML: `NAME = { low = 1, high = 8, step = 1 }` or `NAME = { choices = [..] }`.

    Args:
        text: The file's text.
        origin: Its name, for messages.

    Raises:
        SettingsError: It cannot be read, or an end of a dial is not a value that its setting takes.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"{origin}: not readable as TOML: {error}"
        raise SettingsError(message) from error
    if not tables:
        message = f"{origin}: expected dials, as in screen_trials = {{ low = 0, high = 8 }}, found none"
        raise SettingsError(message)
    space = {name: _dial(f"{origin}: {name}", table) for name, table in tables.items()}
    for name, dial in space.items():
        _check(origin, name, dial)
    return space


def _dial(place: str, table: object) -> Dial:
    try:
        found = _Written.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = f"{place}: expected {{ low, high, step, log }} or {{ choices }}, found {table!r}: {first['msg']}"
        raise SettingsError(message) from error
    if found.choices is not None and found.low is found.high is None:
        return Choices(found.choices)
    if found.low is None or found.high is None or found.choices is not None or not found.low < found.high:
        message = f"{place}: expected low < high, or choices instead, found {table!r}"
        raise SettingsError(message)
    numbers_are_whole = isinstance(found.low, int) and isinstance(found.high, int)
    step = found.step if found.step is not None or not numbers_are_whole else 1
    if found.log and (found.low <= 0 or found.step is not None):
        message = f"{place}: expected low > 0 and no step where log is true, found {table!r}"
        raise SettingsError(message)
    return Range(found.low, found.high, step, log=found.log)


def _check(origin: str, name: str, dial: Dial) -> None:
    """Refuse a dial whose ends its setting would not take, or that is not to be turned."""
    if name in _FIXED:
        message = f"{origin}: {name!r} is not to be searched: it changes what is measured, or what is promised"
        raise SettingsError(message)
    match dial:
        case Range():
            ends: tuple[Value, ...] = (int(dial.low), int(dial.high)) if dial.whole else (dial.low, dial.high)
        case Choices():
            ends = dial.options
        case _:
            assert_never(dial)
    for end in ends:
        make_settings((origin, {name: end} if name != "edit_budget" else {name: end, "min_edits": 1}))


def start_values(base: Settings, space: Space) -> dict[str, Value]:
    """Give what the dials are set to in some settings.

    Raises:
        SettingsError: It is not among the choices of a dial.
    """
    found = base.model_dump(mode="json", include=set(space))
    for name, dial in space.items():
        if isinstance(dial, Choices) and found[name] not in dial.options:
            message = f"{name}: expected {found[name]!r}, which is set now, among the choices, found {dial.options!r}"
            raise SettingsError(message)
    return {name: found[name] for name in space}


def nearest(dial: Dial, value: Value) -> Value:
    """Give the value of a dial that is nearest to some value; a choice is its own."""
    match dial:
        case Choices():
            return value
        case Range():
            kept = min(dial.high, max(dial.low, float(value)))
            if dial.step is None:
                return kept
            steps = min(round((kept - dial.low) / dial.step), int((dial.high - dial.low) / dial.step + 1e-9))
            return int(dial.low + steps * dial.step) if dial.whole else dial.low + steps * dial.step
        case _:
            assert_never(dial)


def overrides(base: Settings, values: Mapping[str, Value]) -> dict[str, Value]:
    """Add to chosen values what must follow them: a least number of edits."""
    found = dict(values)
    most = int(values.get("edit_budget", base.edit_budget))
    if int(values.get("min_edits", base.min_edits)) > most:
        found["min_edits"] = most
    return found


def applied(base: Settings, values: Mapping[str, Value]) -> Settings:
    """Give settings with the dials turned."""
    return Settings.model_validate({**base.model_dump(), **overrides(base, values)})


def as_toml(values: Mapping[str, Value]) -> str:
    """Write values as lines for skillopt.toml."""
    return "".join(f"{name} = {_literal(value)}\n" for name, value in sorted(values.items()))


def _literal(value: Value) -> str:
    if isinstance(value, float):
        return repr(round(value, 10))
    return dumps(value, ensure_ascii=False)
