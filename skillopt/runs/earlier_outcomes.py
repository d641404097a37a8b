"""What was measured on a suite before: its proposals and its gated changes, and what was said of each.

Owns which runs count, and in which order. Does not own what follows from them: repeats of their own, and a share of the
error (loop.proposals, review.gate).
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
    """Give what the gate said in each run of the same kind before this one, None where it said nothing."""
    runs = runs_on(ledger, record.kind, record.skill, record.suite_digest)
    before = sorted((run for run in runs if run.seed < record.seed), key=lambda run: run.seed)
    outcomes: list[Outcome | None] = []
    for run in before:
        events = (decode_event(row.kind, row.payload) for row in ledger.events(run.id))
        outcomes.append(next((event.verdict.outcome for event in events if isinstance(event, GateDecided)), None))
    return outcomes
