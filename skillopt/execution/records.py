"""What the ledger has of a run: its events, what its scores depend on, and what agents did; reads, and runs nothing."""

import json

from skillopt.loop.events import Event, HeldOutTestMeasured, ReleaseCheckWithheld, decode_event
from skillopt.rollouts import new_acts
from skillopt.safety.credentials import mask
from skillopt.skills.folder import decode_skill
from skillopt.storage.ledger import Ledger, RunRecord


def recorded_events(ledger: Ledger, run: str) -> list[Event]:
    """Read the events of a run, in order."""
    return [decode_event(row.kind, row.payload) for row in ledger.events(run)]


def scored_by(record: RunRecord) -> str:
    """Identify what the scores of a run's rollouts depend on: its target and, where there is one, its judge."""
    parts: list[str] = json.loads(record.config)
    _, target, _, *rest = parts
    # Beside training, the last part says what was asked for.
    judge = rest[0] if len(rest) > (record.kind != "training") else ""
    return target + (f" judge={judge}" if judge else "")


def recorded_acts(ledger: Ledger, record: RunRecord, digest: str) -> tuple[str, ...]:
    """Say what agents did under a text of a run and not under the one it began with, as far as the sandbox tells."""
    start = decode_skill(record.skill, record.start).digest
    rows = ledger.run_results(record.id, [start, digest], scored_by(record))
    found = ledger.rollouts([row.key for row in rows if row.skill in (start, digest)])
    before, after = ([found[row.key] for row in rows if row.skill == of and row.key in found] for of in (start, digest))
    return tuple(map(mask, new_acts(before, after)))


def earlier_looks(ledger: Ledger, record: RunRecord, released: str) -> int:
    """Count the looks at the held-out test that earlier runs took for a released version."""
    for event in recorded_events(ledger, record.id):
        if isinstance(event, HeldOutTestMeasured | ReleaseCheckWithheld):
            return event.look - 1
    others = (
        run for run in ledger.runs(record.skill) if run.suite_digest == record.suite_digest and run.id != record.id
    )
    looks = (event for run in others for event in recorded_events(ledger, run.id))
    return sum(isinstance(event, HeldOutTestMeasured) and event.released == released for event in looks)
