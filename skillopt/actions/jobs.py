"""Start a job in a process of its own, see how it is, end it, for the command `jobs`.

Each state comes with what to do next.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from skillopt.actions.job_plan import JobPlan, plan_evaluation, plan_proposal, plan_training
from skillopt.loop.events import decode_event
from skillopt.loop.step_lines import StepLines
from skillopt.project import Project, Selection
from skillopt.rollouts import Usage
from skillopt.runs.plan import Start
from skillopt.runs.proposal import EditsProposal
from skillopt.runs.run_status import RunStatus, run_status
from skillopt.safety.plurals import write_dollars
from skillopt.storage.jobs import (
    Job,
    JobProgress,
    JobState,
    JobTerms,
    cancel_job,
    find_job,
    list_jobs,
    start_job,
    wait_for_job,
)
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.versions.draft_branch import DRAFT

__all__ = [
    "JobGlance",
    "JobLimits",
    "JobPlace",
    "JobReport",
    "Jobs",
    "cancel",
    "glance",
    "job",
    "jobs",
    "locate",
    "start_evaluation",
    "start_proposal",
    "start_training",
]

_LINES = 30
_MINUTES_FROM = 100
"""Seconds from which on a duration is told in minutes."""

_EDITS = "edits.json"
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
class JobLimits:
    """What a job may consume; None leaves it to the project's settings."""

    max_usd: float | None = None
    max_tokens: int | None = None
    max_rollouts: int | None = None
    max_minutes: float | None = None

    @property
    def caps(self) -> dict[str, float]:
        """Those that are set by the names of settings."""
        return {name: value for name in self.__dataclass_fields__ if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class JobReport:
    """How a job is."""

    job: Job
    run: RunStatus | None
    events: tuple[str, ...]
    next_step: str
    line: str = ""
    spent: Mapping[str, Usage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobPlace:
    """Where a job is, and what was said of it when it was started: what it runs, is likely to take, and its limits."""

    root: Path
    plan: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobGlance:
    """A short look at a job, for whoever waits for news."""

    running: bool
    news: int
    line: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Jobs:
    """The newest jobs of a project, newest first."""

    jobs: tuple[Job, ...]


def start_evaluation(
    selection: Selection,
    *,
    split: Literal["train", "val"] = "train",
    repeats: int = 1,
    start: Start = "auto",
    draft: bool = False,
    limits: JobLimits | None = None,
) -> Job:
    """Start a job that measures the incumbent, or the draft; on `train` it gathers evidence."""
    given = limits or JobLimits()
    plan = plan_evaluation(selection, given.caps, split=split, repeats=repeats, start=start, draft=draft)
    incumbent = {"auto": "incumbent", "worktree": "worktree", "branch": f"skillopt/{plan.skill}"}[start]
    words = ["evaluate", "--of", DRAFT if draft else incumbent, "--split", split, "--repeats", str(repeats)]
    return _start(selection, plan, words, given)


def start_training(selection: Selection, *, start: Start = "auto", limits: JobLimits | None = None) -> Job:
    """Start a job that trains the skill with the optimizer model of the project's settings."""
    given = limits or JobLimits()
    return _start(selection, plan_training(selection, given.caps, start=start), ["optimize", "--start", start], given)


def start_proposal(
    selection: Selection, offered: EditsProposal, *, start: Start = "auto", limits: JobLimits | None = None
) -> Job:
    """Start a job that tries edits, which were checked before."""
    given, files = limits or JobLimits(), [(_EDITS, offered.model_dump_json())]
    plan = plan_proposal(selection, given.caps, offered, start=start)
    return _start(selection, plan, ["propose", f"{{job}}/{_EDITS}", "--start", start], given, files)


def jobs(*, folder: Path | None = None) -> Jobs:
    """List the newest jobs of a project."""
    return Jobs(list_jobs(Project.find(folder or Path.cwd()).root))


def job(name: str, *, wait: float = 0.0, folder: Path | None = None) -> JobReport:
    """Return how a job is; reads only what is recorded."""
    root = Project.find(folder or Path.cwd()).root
    return _report(root, wait_for_job(root, name, wait))


def locate(name: str, *, folder: Path) -> JobPlace:
    """Find a job, and what was said of it when it was started."""
    root = Project.find(folder).root
    return JobPlace(root, find_job(root, name).terms.words)


def glance(name: str, *, folder: Path) -> JobGlance:
    """Look how far a job is, without reading what happened."""
    found = find_job(folder, name)
    noted = found.noted or JobProgress()
    return JobGlance(found.state is JobState.RUNNING, noted.news, _progress_line(found), noted.done, noted.total)


def cancel(name: str, *, folder: Path | None = None) -> JobReport:
    """End a job; the first time it waits for calls under way, which are paid for, again it drops them."""
    root = Project.find(folder or Path.cwd()).root
    return _report(root, cancel_job(root, name))


def _start(
    selection: Selection,
    plan: JobPlan,
    command: Sequence[str],
    limits: JobLimits,
    files: Sequence[tuple[str, str]] = (),
) -> Job:
    flags: Mapping[str, object] = selection.flags
    settings = [word for key, value in flags.items() for word in ("--set", f"{key}={value}")]
    suite = ["--suite", str(selection.suite)] if selection.suite else []
    words = [*command, *_flags(limits, plan), *settings, *suite, "--", str(plan.folder)]
    return start_job(plan.root, plan.skill, words, files, JobTerms(plan.limits, plan.words))


def _flags(limits: JobLimits, plan: JobPlan) -> Iterator[str]:
    """Return the options of the command line for the limits that a job was given, no higher than they are in force."""
    for name in limits.caps:
        yield from (f"--{name.replace('_', '-')}", f"{plan.limits[name]:.15g}")


def _report(root: Path, found: Job) -> JobReport:
    run, lines = None, []
    if found.command[0] != "evaluate" and (root / ".skillopt" / "ledger.db").exists():
        with closing(Ledger.open(root, read_only=True)) as ledger:
            record = _run_of(ledger, found)
            if record is not None:
                run = run_status(root, ledger, record)
                events, steps = (decode_event(row.kind, row.payload) for row in ledger.events(record.id)), StepLines()
                lines = [line for event in events for line in steps.lines(event)]
    own = found.noted.roles if found.noted else {}
    spent = run.spent if run is not None and run.spent else own
    return JobReport(found, run, tuple(lines[-_LINES:]), _next_step(found), _progress_line(found), spent)


def _progress_line(found: Job) -> str:
    """Return how far a job is: this batch, what it used of its limits, the time, and where it is."""
    noted, limits = found.noted, found.terms.limits
    if noted is None:
        return ""
    parts = [f"{noted.done:,} of {noted.total:,} {noted.kind}"] if noted.kind else []
    if noted.asked != noted.total or noted.kind != "rollouts":
        parts.append(f"{noted.asked:,}{_of(limits, 'max_rollouts')} rollouts in all")
    tokens = noted.spent.input_tokens + noted.spent.output_tokens
    if noted.spent.usd is not None:
        most = limits.get("max_usd")
        parts.append(f"{write_dollars(noted.spent.usd)}{f' of {write_dollars(most)}' if most else ''}")
    if noted.spent.usd is None or limits.get("max_tokens"):
        parts.append(f"{tokens:,}{_of(limits, 'max_tokens')} tokens")
    parts.append(f"{_duration(found)}{_of(limits, 'max_minutes')}{' min' if limits.get('max_minutes') else ''}")
    return ", ".join(filter(None, (*parts, noted.place)))


def _of(limits: Mapping[str, float], name: str) -> str:
    """Write a limit exactly, with nothing where there is none.

    >>> _of({"max_rollouts": 1_234_567.0}, "max_rollouts"), _of({}, "max_minutes")
    (' of 1,234,567', '')
    """
    most = limits.get(name)
    return f" of {most:,.15g}" if most else ""


def _duration(found: Job) -> str:
    began = datetime.fromisoformat(found.created_at)
    ended = datetime.fromisoformat(found.ended_at) if found.ended_at else datetime.now(UTC)
    seconds = max(0, round((ended - began).total_seconds()))
    return f"{seconds} s" if seconds < _MINUTES_FROM else f"{seconds / 60:.0f} min"


def _run_of(ledger: Ledger, found: Job) -> RunRecord | None:
    """Find the run of a job: the one under way while it runs, else the last that ended since it began."""
    for record in ledger.runs(found.skill):
        ended_since = record.ended_at >= found.created_at
        if record.state == "running" or ended_since:
            return record
    return None


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
