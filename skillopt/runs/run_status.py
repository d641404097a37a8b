"""How far a run in the ledger is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.gate.grades import grade_words
from skillopt.gate.headline import Headline
from skillopt.loop.events import (
    DraftGraded,
    Event,
    StepStarted,
    TrainMeasured,
    VersionAccepted,
    decode_event,
    newest_draft,
)
from skillopt.loop.gained import gained_by_draft, gained_by_run
from skillopt.rollouts import Usage
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import is_locked

__all__ = ["RunStatus", "run_status"]


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How far a run is."""

    run: str
    skill: str
    state: str
    reason: str
    started_at: str
    step: int
    versions: int
    headline: Headline | None
    spent: Mapping[str, Usage]
    kind: str
    draft: str = ""
    declined: str = ""


def run_status(root: Path, ledger: Ledger, record: RunRecord, declined: str = "") -> RunStatus:
    """Return how far a run is."""
    events = [decode_event(row.kind, row.payload) for row in ledger.events(record.id)]
    steps = [event.step for event in events if isinstance(event, StepStarted | TrainMeasured)]
    gone = record.state == "running" and not is_locked(root, record.skill)
    return RunStatus(
        record.id,
        record.skill,
        "interrupted" if gone else record.state,
        record.reason,
        record.started_at,
        max(steps, default=0),
        sum(isinstance(event, VersionAccepted) for event in events),
        gained_by_run(events),
        ledger.spending(record.id),
        record.kind,
        _draft(events),
        declined,
    )


def _draft(events: Sequence[Event]) -> str:
    """Say the grade of what waits."""
    found = newest_draft(events)
    if found is None:
        return ""
    passed = gained_by_draft(events)
    grade = grade_words(found.grading if isinstance(found, DraftGraded) else None)
    return f"{passed.words}, {grade}" if passed else grade
