"""Earlier proposals and gated changes of a skill on the same suite, and the error that their verdicts spent.

They are counted because each later one gets repeats of its own, and the error that is left.
"""

from collections.abc import Iterator

from skillopt.gate.grades import Grade
from skillopt.loop.events import GateDecided, decode_event
from skillopt.storage.ledger import Ledger, RunRecord

__all__ = ["earlier_here_tests", "earlier_spending", "runs_on"]


def runs_on(ledger: Ledger, kind: str, skill: str, suite_digest: str) -> list[RunRecord]:
    """List the runs of a kind for a skill on a suite, newest first."""
    runs = (run for run in ledger.runs(skill) if run.suite_digest == suite_digest)
    return [run for run in runs if run.kind == kind]


def earlier_spending(ledger: Ledger, record: RunRecord) -> list[float]:
    """Return the error that each earlier run of the same kind spent, oldest first; 0 where the gate decided nothing."""
    return [sum(gate.verdict.error_spent for gate in gates) for gates in _earlier_gates(ledger, record)]


def earlier_here_tests(ledger: Ledger, record: RunRecord) -> int:
    """Count the earlier runs of the same kind whose draft was tested for a gain on these very tasks."""
    return sum(any(_is_of_here(gate) for gate in gates) for gates in _earlier_gates(ledger, record))


def _is_of_here(gate: GateDecided) -> bool:
    grading = gate.verdict.grading
    return grading is not None and grading.grade is not Grade.PROVEN


def _earlier_gates(ledger: Ledger, record: RunRecord) -> Iterator[list[GateDecided]]:
    """Yield what the gate decided in each earlier run of the same kind, oldest first."""
    runs = runs_on(ledger, record.kind, record.skill, record.suite_digest)
    for run in sorted((run for run in runs if run.seed < record.seed), key=lambda run: run.seed):
        events = (decode_event(row.kind, row.payload) for row in ledger.events(run.id))
        yield [event for event in events if isinstance(event, GateDecided)]
