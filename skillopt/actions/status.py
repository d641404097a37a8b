"""The user action `status`: how far the runs in the ledger are."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.gate.grade_words import grade_words
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
from skillopt.project import Project
from skillopt.rollouts import Usage
from skillopt.storage.jobs import Job, list_jobs
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import is_locked
from skillopt.versions.decisions import declined_runs

__all__ = ["RunStatus", "StatusReport", "run_status", "status"]


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


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The newest runs, newest first, what the ledger holds in all, and the newest jobs."""

    runs: tuple[RunStatus, ...]
    rollouts: int
    replies: int
    jobs: tuple[Job, ...] = ()
    more: bool = False


def status(*, skill: str = "", most: int = 100, folder: Path | None = None) -> StatusReport:
    """List the newest runs of a project."""
    project = Project.find(folder or Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        counts = ledger.counts()
        found = ledger.runs(skill, most + 1)
        runs = found[:most]
        declined = declined_runs(project.repository, [record.skill for record in runs])
        rows = [
            replace(run_status(project.root, ledger, record), declined=declined.get(record.id, "")) for record in runs
        ]
    jobs = list_jobs(project.root)
    return StatusReport(tuple(rows), counts.rollouts, counts.replies, jobs, len(found) > len(runs))


def _events(ledger: Ledger, record: RunRecord) -> list[tuple[str, Event]]:
    return [(row.at, decode_event(row.kind, row.payload)) for row in ledger.events(record.id)]


def run_status(root: Path, ledger: Ledger, record: RunRecord) -> RunStatus:
    """Return how far a run is."""
    events = _events(ledger, record)
    steps = [event.step for _, event in events if isinstance(event, StepStarted | TrainMeasured)]
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
        gained_by_run(event for _, event in events),
        ledger.spending(record.id),
        record.kind,
        _draft([event for _, event in events]),
    )


def _draft(events: Sequence[Event]) -> str:
    """Say the grade of what waits."""
    found = newest_draft(events)
    if found is None:
        return ""
    passed = gained_by_draft(events)
    grade = grade_words(found.grading if isinstance(found, DraftGraded) else None)
    return f"{passed.words}, {grade}" if passed else grade
