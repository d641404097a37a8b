"""Earlier proposals and gated changes of a skill on the same suite, and the error that their verdicts spent.

They are counted because each later one gets repeats of its own, and the error that is left.
"""

from skillopt.loop.events import GateDecided, decode_event
from skillopt.storage.ledger import Ledger, RunRecord

__all__ = ["earlier_spending", "runs_on"]


def runs_on(ledger: Ledger, kind: str, skill: str, suite_digest: str) -> list[RunRecord]:
    """List the runs of a kind for a skill on a suite, newest first."""
    runs = (run for run in ledger.runs() if (run.skill, run.suite_digest) == (skill, suite_digest))
    return [run for run in runs if run.kind == kind]


def earlier_spending(ledger: Ledger, record: RunRecord) -> list[float]:
    """Give the error that each earlier run of the same kind spent, oldest first; 0 where the gate decided nothing."""
    runs = runs_on(ledger, record.kind, record.skill, record.suite_digest)
    before = sorted((run for run in runs if run.seed < record.seed), key=lambda run: run.seed)
    spent: list[float] = []
    for run in before:
        events = (decode_event(row.kind, row.payload) for row in ledger.events(run.id))
        spent.append(sum(event.verdict.error_spent for event in events if isinstance(event, GateDecided)))
    return spent
