"""Error that earlier runs of a skill spent on its `val` tasks, from the ledger, else from the trailers of versions.

The error promised holds for a skill over its runs, so each run gets what the earlier ones left.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from skillopt.errors import UsageError
from skillopt.gate.error_budget import ERROR_SPENT, ErrorBudget, ErrorSpent
from skillopt.gate.grades import Grade
from skillopt.loop.events import Event, GateDecided, decode_event
from skillopt.loop.siblings import without_siblings
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import decode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.tasks import Split, Suite
from skillopt.versions.commit_message import Version

__all__ = ["earlier_here_tests", "earlier_spending", "error_budget", "error_spent", "runs_on", "spent_by_earlier"]


def error_spent(events: Iterable[Event]) -> float:
    """Add up what the gates of a run spent."""
    return sum(event.verdict.error_spent for event in events if isinstance(event, GateDecided))


def spent_by_earlier(
    ledger: Ledger, versions: Iterable[Version], suite: Suite, skill: str, until: str = ""
) -> tuple[ErrorSpent, ...]:
    """List what training runs and proposals of a skill spent on today's `val` tasks."""
    runs = [run for run in ledger.runs(skill) if run.kind != "gate"]
    found = [_of_run(ledger, run, suite, until) for run in runs]
    known = {run.id for run in runs}
    # Whether their tasks were others cannot be known here, and an error that is not counted would break the promise.
    others = (version for version in versions if version.trailer("Skillopt-Run") not in known)
    found += [ErrorSpent(_number(version.trailer(ERROR_SPENT))) for version in others]
    return tuple(one for one in found if one.error > 0)


def error_budget(root: Path, versions: Iterable[Version], suite: Suite, skill: str, allowed: float) -> ErrorBudget:
    """Return what is left of a skill's error; without a ledger, by the trailers of its versions alone."""
    try:
        opened = closing(Ledger.open(root, read_only=True))
    except UsageError:
        return ErrorBudget.after(allowed, (_number(version.trailer(ERROR_SPENT)) for version in versions))
    with opened as ledger:
        return ErrorBudget.after(allowed, spent_by_earlier(ledger, versions, suite, skill))


def _of_run(ledger: Ledger, run: RunRecord, suite: Suite, until: str) -> ErrorSpent:
    rows = [row for row in ledger.events(run.id) if row.kind == GateDecided.__name__ and (not until or row.at < until)]
    gates = [event for row in rows if isinstance(event := decode_event(row.kind, row.payload), GateDecided)]
    error = error_spent(gates)
    shared = 1.0 if run.suite_digest == suite.digest or not error else _shared(ledger, run, gates, suite)
    return ErrorSpent(error, shared)


def _shared(ledger: Ledger, run: RunRecord, gates: Iterable[GateDecided], suite: Suite) -> float:
    """Return the share of today's `val` tasks that the gates of a run on another suite looked at, by id."""
    start = decode_skill(run.skill, run.start)
    compared = {start.with_document(SkillDocument(gate.text)).digest for gate in gates if gate.text}
    _, target, _, *rest = without_siblings(json.loads(run.config))
    # The last part of a proposal's configuration names its edits.
    identity = target + (f" judge={rest[0]}" if len(rest) > (run.kind != "training") else "")
    looked = {row.task for row in ledger.run_results(run.id, sorted(compared), identity) if row.skill in compared}
    today = {task.id for task in suite.tasks(Split.VAL)}
    return len(today & looked) / len(today) if today else 1.0


def _number(text: str) -> float:
    try:
        return max(0.0, float(text))
    except ValueError:  # there is none, or people changed it
        return 0.0


def runs_on(ledger: Ledger, kind: str, skill: str, suite_digest: str) -> list[RunRecord]:
    """List the runs of a kind for a skill on a suite, newest first."""
    runs = (run for run in ledger.runs(skill) if run.suite_digest == suite_digest)
    return [run for run in runs if run.kind == kind]


def earlier_spending(ledger: Ledger, record: RunRecord) -> list[float]:
    """Return the error that each earlier run of the same kind spent, oldest first; 0 where the gate decided nothing."""
    return [sum(gate.verdict.error_spent for gate in gates) for gates in _earlier_gates(ledger, record)]


def earlier_here_tests(ledger: Ledger, record: RunRecord) -> int:
    """Count the earlier runs of the same kind whose draft was tested for a gain on these very tasks."""
    grades = ([gate.verdict.grading for gate in gates] for gates in _earlier_gates(ledger, record))
    return sum(any(one is not None and one.grade is not Grade.PROVEN for one in found) for found in grades)


def _earlier_gates(ledger: Ledger, record: RunRecord) -> Iterator[list[GateDecided]]:
    """Yield what the gate decided in each earlier run of the same kind, oldest first."""
    runs = runs_on(ledger, record.kind, record.skill, record.suite_digest)
    for run in sorted((run for run in runs if run.seed < record.seed), key=lambda run: run.seed):
        events = (decode_event(row.kind, row.payload) for row in ledger.events(run.id))
        yield [event for event in events if isinstance(event, GateDecided)]
