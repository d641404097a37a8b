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
    stages, asked = _stages(record, _events(ledger, record)), _caps_of(settings)
    return tuple(_under(settings, caps) for caps in (*stages, *([asked] if _is_higher(asked, stages[-1]) else [])))


def find_capped(ledger: Ledger, skill: str, config: str, suite: Suite, settings: Settings) -> RunRecord | None:
    """Find the newest run that differs in its caps alone and can go on under higher ones, or under its last ones."""
    alike = (run for run in ledger.runs(skill) if run.suite_digest == suite.digest)
    record = next((run for run in alike if _without_caps(run.config) == _without_caps(config)), None)
    if record is None or record.config == config:
        return None
    events = _events(ledger, record)
    stages, asked = _stages(record, events), _caps_of(settings)
    higher = _is_higher(asked, stages[-1])
    if record.state != "finished":
        return record if asked == stages[-1] or higher else None
    ended = next((event for event in reversed(events) if isinstance(event, RunEnded)), None)
    # What folds have joined cannot be parted.
    joined = settle_folds(suite, _under(settings, stages[0])).folds is not None and ended is not None and ended.accepted
    return record if ended is not None and ended.capped and higher and not joined else None


def check_not_lower(ledger: Ledger, record: RunRecord, settings: Settings) -> None:
    """Refuse to go on with a run under caps higher than those asked for."""
    last, asked = _stages(record, _events(ledger, record))[-1], _caps_of(settings)
    if _is_higher(last, asked):
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


def _stages(record: RunRecord, events: Sequence[Event]) -> list[_Caps]:
    """List the caps of a run, those that it began with first."""
    settings = json.loads(json.loads(record.config)[0])
    raised = (event for event in events if isinstance(event, CapsRaised))
    return [tuple(settings[name] for name in _CAPS), *(tuple(getattr(one, name) for name in _CAPS) for one in raised)]


def _caps_of(settings: Settings) -> _Caps:
    return tuple(getattr(settings, name) for name in _CAPS)


def _under(settings: Settings, caps: _Caps) -> Settings:
    return settings.model_copy(update=dict(zip(_CAPS, caps, strict=True)))


def _is_higher(caps: _Caps, than: _Caps) -> bool:
    """Return whether no cap is lower and some cap is higher; None is none at all."""
    pairs = [(cap or math.inf, other or math.inf) for cap, other in zip(caps, than, strict=True)]
    return all(cap >= other for cap, other in pairs) and any(cap > other for cap, other in pairs)


def _without_caps(config: str) -> list[object]:
    settings, *rest = json.loads(config)
    return [{name: value for name, value in json.loads(settings).items() if name not in _CAPS}, *rest]
