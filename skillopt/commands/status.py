"""The user action `status`: how far the runs in the ledger are."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from skillopt.gate.grade_words import grade_words
from skillopt.loop.events import DraftChanged, DraftGraded, Event, StepStarted, VersionAccepted, decode_event
from skillopt.project import Project
from skillopt.rollouts import Usage
from skillopt.storage.jobs import Job, list_jobs
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import is_locked

__all__ = ["RunStatus", "StatusReport", "run_status", "status"]

_DRAFT_EVENTS = (DraftChanged, DraftGraded, VersionAccepted)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How far a run is.

    Args:
        run: Its id.
        skill: What it trains.
        state: `running`, `finished`, `stopped`, `failed`, or `interrupted` (its process is gone).
        reason: Why it ended, empty while it goes on.
        started_at: When, ISO 8601 in UTC.
        step: Last step begun.
        versions: Versions accepted.
        val: Mean score of the newest version on val, as measured; None before the first.
        expected: That version's score to expect when measured again, None before the first.
        spent: What the answers it paid for cost, role by role.
        kind: `training`, `proposal` or `gate`.
        draft: What was shown of what waits for the gate or for a person, in words; empty when nothing waits.
    """

    run: str
    skill: str
    state: str
    reason: str
    started_at: str
    step: int
    versions: int
    val: float | None
    expected: float | None
    spent: Mapping[str, Usage]
    kind: str
    draft: str = ""


@dataclass(frozen=True, slots=True)
class StatusReport:
    """All runs, newest first, what the ledger holds in all, and the newest jobs."""

    runs: tuple[RunStatus, ...]
    rollouts: int
    replies: int
    jobs: tuple[Job, ...] = ()


def status(*, folder: Path | None = None) -> StatusReport:
    """List the runs of a project.

    Raises:
        UsageError: There is no ledger yet.
    """
    project = Project.find(folder or Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        counts = ledger.counts()
        rows = [run_status(project.root, ledger, record) for record in ledger.runs()]
    return StatusReport(tuple(rows), counts.rollouts, counts.replies, list_jobs(project.root))


def _events(ledger: Ledger, record: RunRecord) -> list[tuple[str, Event]]:
    return [(row.at, decode_event(row.kind, row.payload)) for row in ledger.events(record.id)]


def run_status(root: Path, ledger: Ledger, record: RunRecord) -> RunStatus:
    """Tell how far a run is.

    Args:
        root: The project.
        ledger: Its open ledger.
        record: The run.
    """
    events = _events(ledger, record)
    steps = [event.step for _, event in events if isinstance(event, StepStarted)]
    accepted = [event for _, event in events if isinstance(event, VersionAccepted)]
    gone = record.state == "running" and not is_locked(root, record.skill)
    return RunStatus(
        record.id,
        record.skill,
        "interrupted" if gone else record.state,
        record.reason,
        record.started_at,
        max(steps, default=0),
        len(accepted),
        accepted[-1].verdict.after if accepted else None,
        accepted[-1].verdict.expected if accepted else None,
        ledger.spending(record.id),
        record.kind,
        _draft([event for _, event in events]),
    )


def _draft(events: Sequence[Event]) -> str:
    """Say the grade of what waits; of a run that goes on, nothing is shown of it yet."""
    newest = next((event for event in reversed(events) if isinstance(event, _DRAFT_EVENTS)), None)
    if newest is None or isinstance(newest, VersionAccepted) or not newest.changes:
        return ""
    return grade_words(newest.grading if isinstance(newest, DraftGraded) else None)
