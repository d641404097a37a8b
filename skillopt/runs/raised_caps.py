"""Raised caps: the run that a command with higher caps goes on with, and the caps that it had before.

A run under a cap ends like any other: its draft is gated and graded. Under higher caps it goes on from there, so
nothing is measured twice; the caps that it was raised to are recorded among its events.
"""

import json
import math
from collections.abc import Sequence
from typing import Final

from skillopt.errors import UsageError
from skillopt.loop.events import CapsRaised, Event, RunEnded, VersionAccepted, decode_event
from skillopt.loop.rollout_plan import settle_folds
from skillopt.settings import Settings
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import decode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.tasks import Suite

__all__ = ["check_not_lower", "ends_with", "find_capped", "stages_of"]

_CAPS: Final = ("max_rollouts", "max_usd", "max_tokens")
_Caps = tuple[float | None, ...]


def stages_of(ledger: Ledger, record: RunRecord, settings: Settings) -> tuple[Settings, ...]:
    """Return the settings that a run began with, and those with each of the caps that it was raised to."""
    stages = [_first_caps(record), *_raised(_events(ledger, record))]
    asked = _caps_of(settings)
    if _is_higher(asked, stages[-1]):
        stages.append(asked)
    return tuple(settings.model_copy(update=_as_settings(caps)) for caps in stages)


def find_capped(ledger: Ledger, skill: str, config: str, suite: Suite, settings: Settings) -> RunRecord | None:
    """Find the newest run that differs in its caps alone and can go on under higher ones, or under its last ones."""
    alike = (run for run in ledger.runs(skill) if run.suite_digest == suite.digest)
    record = next((run for run in alike if _without_caps(run.config) == _without_caps(config)), None)
    if record is None or record.config == config:
        return None
    events = _events(ledger, record)
    last, asked = [_first_caps(record), *_raised(events)][-1], _caps_of(settings)
    if record.state != "finished":
        return record if asked == last or _is_higher(asked, last) else None
    ended = next((event for event in reversed(events) if isinstance(event, RunEnded)), None)
    if ended is None or not ended.capped or not _is_higher(asked, last):
        return None
    first = settings.model_copy(update=_as_settings(_first_caps(record)))
    joined = settle_folds(suite, first).folds is not None and ended.accepted  # what folds have joined cannot be parted
    return None if joined else record


def check_not_lower(ledger: Ledger, record: RunRecord, settings: Settings) -> None:
    """Refuse to go on with a run under caps higher than those asked for."""
    last, asked = [_first_caps(record), *_raised(_events(ledger, record))][-1], _caps_of(settings)
    if not _is_higher(last, asked):
        return
    changed = [(name, cap, given) for name, cap, given in zip(_CAPS, last, asked, strict=True) if cap != given]
    needed = ", ".join(_written(name, cap) for name, cap, _ in changed)
    found = ", ".join(_written(name, given) for name, _, given in changed)
    raise UsageError(f"run {record.id} goes on under {needed}, found {found}; give those caps or higher ones")


def _written(name: str, cap: float | None) -> str:
    return f"no {name}" if cap is None else f"{name}={cap:g}"


def ends_with(ledger: Ledger, record: RunRecord) -> str:
    """Return the digest of the text that a run ended with: its newest version, else where it began."""
    start = decode_skill(record.skill, record.start)
    texts = [event.text for event in _events(ledger, record) if isinstance(event, VersionAccepted)]
    return start.with_document(SkillDocument(texts[-1])).digest if texts else start.digest


def _events(ledger: Ledger, record: RunRecord) -> list[Event]:
    kinds = {kind.__name__ for kind in (CapsRaised, RunEnded, VersionAccepted)}
    return [decode_event(row.kind, row.payload) for row in ledger.events(record.id) if row.kind in kinds]


def _raised(events: Sequence[Event]) -> list[_Caps]:
    return [(event.max_rollouts, event.max_usd, event.max_tokens) for event in events if isinstance(event, CapsRaised)]


def _first_caps(record: RunRecord) -> _Caps:
    settings = json.loads(json.loads(record.config)[0])
    return tuple(settings[name] for name in _CAPS)


def _caps_of(settings: Settings) -> _Caps:
    return tuple(getattr(settings, name) for name in _CAPS)


def _as_settings(caps: _Caps) -> dict[str, float | None]:
    return dict(zip(_CAPS, caps, strict=True))


def _is_higher(caps: _Caps, than: _Caps) -> bool:
    """Return whether no cap is lower and some cap is higher; None is none at all."""
    pairs = [(cap or math.inf, other or math.inf) for cap, other in zip(caps, than, strict=True)]
    return all(cap >= other for cap, other in pairs) and any(cap > other for cap, other in pairs)


def _without_caps(config: str) -> list[object]:
    settings, *rest = json.loads(config)
    return [{name: value for name, value in json.loads(settings).items() if name not in _CAPS}, *rest]
