"""Earlier proposals and gated changes of a skill on the same suite, and their outcomes.

They are counted because each later one gets repeats of its own and a smaller share of the error.
"""

from skillopt.gate.comparison import Outcome
from skillopt.loop.events import GateDecided, decode_event
from skillopt.storage.ledger import Ledger, RunRecord

__all__ = ["earlier_outcomes", "runs_on"]


def runs_on(ledger: Ledger, kind: str, skill: str, suite_digest: str) -> list[RunRecord]:
    """List the runs of a kind for a skill on a suite, newest first."""
    runs = (run for run in ledger.runs() if (run.skill, run.suite_digest) == (skill, suite_digest))
    return [run for run in runs if run.kind == kind]


def earlier_outcomes(ledger: Ledger, record: RunRecord) -> list[Outcome | None]:
    """Give the outcome of each earlier run of the same kind, None where the gate decided nothing."""
    runs = runs_on(ledger, record.kind, record.skill, record.suite_digest)
    before = sorted((run for run in runs if run.seed < record.seed), key=lambda run: run.seed)
    outcomes: list[Outcome | None] = []
    for run in before:
        events = (decode_event(row.kind, row.payload) for row in ledger.events(run.id))
        outcomes.append(next((event.verdict.outcome for event in events if isinstance(event, GateDecided)), None))
    return outcomes
