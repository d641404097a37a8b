"""How a run or a job is, and its end: what was done and spent, and what to do next in each state of a job."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from skillopt.execution.recording import recorded_events
from skillopt.gate.grades import grade_words
from skillopt.gate.headline import Headline
from skillopt.loop.events import DraftGraded, StepStarted, TrainMeasured, VersionAccepted, event_line, newest_draft
from skillopt.loop.gained import gained_by_draft, gained_by_run
from skillopt.project import Project
from skillopt.rollouts import Usage
from skillopt.safety.plurals import write_dollars
from skillopt.storage.jobs import Job, JobProgress, JobState, cancel_job, find_job, list_jobs, wait_for_job
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import is_locked

_LINES = 30
_MINUTES_FROM = 100  # seconds

_NEXT = {
    JobState.RUNNING: "It goes on by itself. Wait for news with job_status and wait_seconds=50, or with "
    "`skillopt jobs JOB --wait 600`.",
    JobState.CANCELLED: "What was answered is kept; start the same again to continue.",
    JobState.LOST: "Its process ended without a result: it was killed, or the machine was. What was answered is kept; "
    "start the same again to continue.",
}
_AFTER = {
    "evaluate": "The evidence of the train tasks is recorded: read it, and propose edits.",
    "optimize": "Show the difference between the first and the newest version, and the numbers above. Where a draft is "
    "named, show what it changes and its grade; only a person makes it a version, with `skillopt take`.",
    "propose": "Evaluate the new version on train for new evidence, or stop here and show the difference.",
}
_UNKNOWN = "Read what it said above; another version of skillopt started it."
_NOT_TAKEN = (
    "Read above what each edit came to. Try another idea, not other words for the same; or stop here. Where a draft "
    "waits, show it with its grade: only a person makes it a version, with `skillopt take`."
)


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
class JobReport:
    """How a job is."""

    job: Job
    run: RunStatus | None
    events: tuple[str, ...]
    next_step: str
    line: str
    spent: Mapping[str, Usage]


@dataclass(frozen=True, slots=True)
class JobGlance:
    """A short look at a job, for whoever waits for news."""

    running: bool
    news: int
    line: str
    done: int
    total: int


def run_status(root: Path, ledger: Ledger, record: RunRecord, declined: str = "") -> RunStatus:
    """Return how far a run is."""
    events = recorded_events(ledger, record.id)
    steps = [event.step for event in events if isinstance(event, StepStarted | TrainMeasured)]
    gone = record.state == "running" and not is_locked(root, record.skill)
    draft, passed = newest_draft(events), gained_by_draft(events)
    grade = grade_words(draft.grading if isinstance(draft, DraftGraded) else None)
    return RunStatus(
        run=record.id,
        skill=record.skill,
        state="interrupted" if gone else record.state,
        reason=record.reason,
        started_at=record.started_at,
        step=max(steps, default=0),
        versions=sum(isinstance(event, VersionAccepted) for event in events),
        headline=gained_by_run(events),
        spent=ledger.spending(record.id),
        kind=record.kind,
        draft="" if draft is None else f"{passed.words}, {grade}" if passed else grade,
        declined=declined,
    )


def jobs(*, folder: Path | None = None) -> tuple[Job, ...]:
    """List the newest jobs of a project, newest first."""
    return list_jobs(_root(folder))


def job(name: str, *, wait: float = 0.0, folder: Path | None = None) -> JobReport:
    """Return how a job is; reads only what is recorded."""
    return _report(_root(folder), wait_for_job(_root(folder), name, wait))


def locate(name: str, *, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Return where a job is, and what was said of it when it was started: its work, likely cost and limits."""
    root = _root(folder)
    return root, find_job(root, name).terms.words


def glance(name: str, *, folder: Path) -> JobGlance:
    """Look how far a job is, without reading what happened."""
    found = find_job(folder, name)
    noted = found.noted or JobProgress()
    return JobGlance(found.state is JobState.RUNNING, noted.news, _progress_line(found), noted.done, noted.total)


def cancel(name: str, *, folder: Path | None = None) -> JobReport:
    """End a job; the first time it waits for calls under way, which are paid for, again it drops them."""
    return _report(_root(folder), cancel_job(_root(folder), name))


def _root(folder: Path | None) -> Path:
    return Project.find(folder or Path.cwd()).root


def _report(root: Path, found: Job) -> JobReport:
    run, lines = None, list[str]()
    if found.command[0] != "evaluate" and (root / ".skillopt" / "ledger.db").exists():
        with closing(Ledger.open(root, read_only=True)) as ledger:
            # The run under way while it runs, else the last that ended since it began.
            runs = ledger.runs(found.skill)
            record = next((run for run in runs if run.state == "running" or run.ended_at >= found.created_at), None)
            if record is not None:
                run = run_status(root, ledger, record)
                lines = [line for event in recorded_events(ledger, record.id) if (line := event_line(event))]
    own = found.noted.roles if found.noted else {}
    spent = run.spent if run is not None and run.spent else own
    return JobReport(
        job=found,
        run=run,
        events=tuple(lines[-_LINES:]),
        next_step=_next_step(found),
        line=_progress_line(found),
        spent=spent,
    )


def _progress_line(found: Job) -> str:
    noted, limits = found.noted, found.terms.limits
    if noted is None:
        return ""
    parts = [f"{noted.done:,} of {noted.total:,} {noted.kind}"] if noted.kind else []
    if noted.asked != noted.total or noted.kind != "rollouts":
        parts.append(f"{noted.asked:,}{_of(limits, 'max_rollouts')} rollouts in all")
    if noted.spent.usd is not None:
        most = limits.get("max_usd")
        parts.append(f"{write_dollars(noted.spent.usd)}{f' of {write_dollars(most)}' if most else ''}")
    if noted.spent.usd is None or limits.get("max_tokens"):
        parts.append(f"{noted.spent.tokens:,}{_of(limits, 'max_tokens')} tokens")
    parts.append(f"{_duration(found)}{_of(limits, 'max_minutes')}{' min' if limits.get('max_minutes') else ''}")
    return ", ".join(filter(None, (*parts, noted.place)))


def _of(limits: Mapping[str, float], name: str) -> str:
    most = limits.get(name)
    return f" of {most:,.15g}" if most else ""


def _duration(found: Job) -> str:
    began = datetime.fromisoformat(found.created_at)
    ended = datetime.fromisoformat(found.ended_at) if found.ended_at else datetime.now(UTC)
    seconds = max(0, round((ended - began).total_seconds()))
    return f"{seconds} s" if seconds < _MINUTES_FROM else f"{seconds / 60:.0f} min"


def _next_step(found: Job) -> str:
    if found.state in _NEXT:
        return _NEXT[found.state]
    if found.exit_code == 0:
        return _AFTER.get(found.command[0], _UNKNOWN)
    if found.exit_code == 1:
        return _NOT_TAKEN
    if found.exit_code == 2:  # noqa: PLR2004 - the documented code
        return "Mend what is named above, then start it anew; nothing was spent."
    return "Mend what is named above and start the same again; what was answered is kept and not paid twice."
