"""What recorded runs say: how tasks went under any text, what a judge made of them, and the error that gates spent."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from skillopt.errors import UsageError
from skillopt.execution.drivers import Drivers
from skillopt.execution.records import recorded_events, scored_by
from skillopt.figures import Headline, name_grade
from skillopt.gate.decide import Verdict
from skillopt.gate.error_budget import ERROR_SPENT, ErrorBudget
from skillopt.gate.grades import Grade
from skillopt.loop.events import (
    DraftGraded,
    GateDecided,
    StepStarted,
    TrainMeasured,
    VersionAccepted,
    decode_event,
    gained_by_draft,
    gained_by_run,
    newest_draft,
)
from skillopt.loop.proposals import PROPOSAL_ROUNDS
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream, Usage
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import decode_skill
from skillopt.storage.ledger import Ledger, RunRecord, rollout_key
from skillopt.storage.locks import is_locked
from skillopt.tasks import Split, Suite, Task
from skillopt.versions.commit_message import Version

_CALLED: Final = (0.8, 0.9)  # probabilities of drafts whose fate is counted

_LEAST_RUNS: Final = 3
"""Runs from which a task that passed always, or never, is said to."""


class TaskStanding(StrEnum):
    """What recorded runs say of a task."""

    ALWAYS = "always passes"
    NEVER = "never passes"
    FAILS = "fails so far"
    FLAKY = "flaky"
    MIXED = "passes under some texts"
    UNKNOWN = "too few runs"


@dataclass(frozen=True, slots=True)
class TaskOutcomes:
    """Recorded runs of one task."""

    task: str
    runs: int
    passed: int
    texts: int
    standing: TaskStanding


def recorded_rollouts(ledger: Ledger, drivers: Drivers, suite: Suite) -> dict[str, list[Rollout]]:
    """Return the recorded rollouts of a suite's tasks by one target, oldest first, whatever the text; by task id."""
    rows = ledger.target_results(drivers.target_identity)
    wanted: dict[str, Task] = {}
    for text, repeat in {(row.skill, row.repeat) for row in rows}:  # not row by row: each is hashed with every task
        wanted |= {drivers.recorded_key(text, task, repeat): task for _, task in suite.splits}
    keys = [row.key for row in rows if row.key in wanted]
    rollouts = ledger.rollouts(keys)
    found: dict[str, list[Rollout]] = defaultdict(list)
    for key in keys:
        if key in rollouts:
            found[wanted[key].id].append(rollouts[key])
    return dict(found)


def count_outcomes(suite: Suite, rollouts: Mapping[str, Sequence[Rollout]]) -> tuple[TaskOutcomes, ...]:
    """Say of each task how it went, in the order of the suite."""
    found = []
    for _, task in suite.splits:
        by_text: dict[str, list[bool]] = defaultdict(list)
        for one in rollouts.get(task.id, ()):
            if one.score is not None:
                by_text[one.skill_digest].append(one.score.passed)
        outcomes = [passed for own in by_text.values() for passed in own]
        standing = _standing(outcomes, by_text.values())
        found.append(TaskOutcomes(task.id, len(outcomes), sum(outcomes), len(by_text), standing))
    return tuple(found)


def _standing(outcomes: Sequence[bool], by_text: Collection[Sequence[bool]]) -> TaskStanding:
    if any(len(set(own)) > 1 for own in by_text):
        return TaskStanding.FLAKY
    if len(set(outcomes)) > 1:
        return TaskStanding.MIXED
    if len(outcomes) < _LEAST_RUNS:
        return TaskStanding.UNKNOWN
    if outcomes[0]:
        return TaskStanding.ALWAYS
    return TaskStanding.NEVER if len(by_text) > 1 else TaskStanding.FAILS


_REPEATS: Final = 16
"""Repeats of a task that are looked for, the most that an evaluation takes."""

TRAIN_REPEATS: Final = tuple(
    repeat for number in range(_REPEATS) for repeat in (number, Stream.LEARNING.repeat(number))
)
"""Repeats of evaluations and of training; patch tests and gates have higher ones."""


def proposal_repeats(proposals: int) -> list[int]:
    """List the repeats of the verdicts on so many proposals."""
    return [Stream.PROPOSAL.repeat(number) for number in range(PROPOSAL_ROUNDS * proposals)]


def rollouts_at(
    ledger: Ledger, drivers: Drivers, skill: Skill, tasks: Sequence[Task], repeats: Sequence[int]
) -> Mapping[str, list[Rollout]]:
    """Return the recorded rollouts at some repeats, by task; of each task the last repeat comes last."""
    keys = {drivers.key_of(RolloutRequest(skill, task, repeat)): task.id for task in tasks for repeat in repeats}
    found: dict[str, list[Rollout]] = {}
    for key, rollout in ledger.rollouts(list(keys)).items():
        found.setdefault(keys[key], []).append(rollout)
    return {name: sorted(rollouts, key=lambda one: one.repeat) for name, rollouts in found.items()}


def spent_by_earlier(
    ledger: Ledger, versions: Iterable[Version], suite: Suite, skill: str, until: str = ""
) -> tuple[float, ...]:
    """List what training runs and proposals of a skill spent on today's `val` tasks."""
    runs = [run for run in ledger.runs(skill) if run.kind != "gate"]
    found = []
    for run in runs:
        rows = [one for one in ledger.events(run.id) if one.kind == GateDecided.__name__]
        decided = (decode_event(one.kind, one.payload) for one in rows if not until or one.at < until)
        gates = [event for event in decided if isinstance(event, GateDecided)]
        error = sum(gate.verdict.error_spent for gate in gates)
        same = run.suite_digest == suite.digest or not error
        found.append(error * (1.0 if same else _shared(ledger, run, gates, suite)))
    known = {run.id for run in runs}
    # Whether their tasks were others cannot be known here, and an error that is not counted would break the promise.
    others = (version for version in versions if version.trailer("Skillopt-Run") not in known)
    found += [read_error(version.trailer(ERROR_SPENT)) for version in others]
    return tuple(one for one in found if one > 0)


def error_budget(root: Path, versions: Iterable[Version], suite: Suite, skill: str, allowed: float) -> ErrorBudget:
    """Return what is left of a skill's error; without a ledger, by the trailers of its versions alone."""
    try:
        opened = closing(Ledger.open(root, read_only=True))
    except UsageError:
        return ErrorBudget.after(allowed, (read_error(version.trailer(ERROR_SPENT)) for version in versions))
    with opened as ledger:
        return ErrorBudget.after(allowed, spent_by_earlier(ledger, versions, suite, skill))


def count_calibration(root: Path) -> tuple[int, int]:
    """Count a project's drafts called 80 to 90% better that a later run decided about, and those it showed better."""
    called, decided = set[tuple[str, str]](), dict[tuple[str, str], bool]()
    with suppress(UsageError), closing(Ledger.open(root, read_only=True)) as ledger:
        for run in reversed(ledger.runs()):
            rows = (one for one in ledger.events(run.id) if one.kind in (DraftGraded.__name__, GateDecided.__name__))
            events = [decode_event(one.kind, one.payload) for one in rows]
            for gate in (event for event in events if isinstance(event, GateDecided)):
                if (run.skill, gate.text) in called and (gate.verdict.accepted or gate.verdict.rejected):
                    decided[run.skill, gate.text] = gate.verdict.accepted
            for draft in (event for event in events if isinstance(event, DraftGraded)):
                low, high = _CALLED
                if draft.grading.grade is Grade.LIKELY and low <= (draft.grading.probability or 0.0) < high:
                    called.add((run.skill, draft.text))
    return len(decided), sum(decided.values())


def _shared(ledger: Ledger, run: RunRecord, gates: Iterable[GateDecided], suite: Suite) -> float:
    """Return the share of today's `val` tasks that the gates of a run on another suite looked at, by content or id."""
    start = decode_skill(run.skill, run.start)
    compared = {start.with_document(SkillDocument(gate.text)).digest for gate in gates if gate.text}
    rows = ledger.run_results(run.id, sorted(compared), scored_by(run))
    looked = {row.key: row for row in rows if row.skill in compared}
    ids, texts = {row.task for row in looked.values()}, {(row.skill, row.repeat) for row in looked.values()}
    judged = scored_by(run)
    scorers = dict.fromkeys((judged, judged.partition(" judge=")[0]))
    today = suite.tasks(Split.VAL)
    known = sum(
        task.id in ids
        or any(rollout_key(skill, task.digest, by, repeat) in looked for skill, repeat in texts for by in scorers)
        for task in today
    )
    return known / len(today) if today else 1.0


def read_error(text: str) -> float:
    """Read the trailer with an error that was spent."""
    try:
        return max(0.0, float(text))
    except ValueError:  # there is none, or people changed it
        return 0.0


def runs_on(ledger: Ledger, kind: str, skill: str, suite_digest: str) -> list[RunRecord]:
    """List the runs of a kind for a skill on a suite, newest first."""
    return [run for run in ledger.runs(skill) if run.suite_digest == suite_digest and run.kind == kind]


def earlier_gates(ledger: Ledger, record: RunRecord) -> list[list[Verdict]]:
    """Return what the gate decided in each earlier run of the same kind, oldest first."""
    runs = runs_on(ledger, record.kind, record.skill, record.suite_digest)
    return [
        [event.verdict for event in recorded_events(ledger, run.id) if isinstance(event, GateDecided)]
        for run in sorted(runs, key=lambda run: run.seed)
        if run.seed < record.seed
    ]


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


def run_status(root: Path, ledger: Ledger, record: RunRecord) -> RunStatus:
    """Return how far a run is."""
    events = recorded_events(ledger, record.id)
    steps = [event.step for event in events if isinstance(event, StepStarted | TrainMeasured)]
    gone = record.state == "running" and not is_locked(root, record.skill)
    draft, passed = newest_draft(events), gained_by_draft(events)
    grade = name_grade(draft.grading if isinstance(draft, DraftGraded) else None)
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
        draft="" if draft is None else f"{passed.words}; {grade}" if passed else grade,
    )
