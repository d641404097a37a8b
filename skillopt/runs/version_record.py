"""Ledger record of a version or a draft: its edits, the tasks that motivated them, and what ablation found of them.

It is found by the trailers of the commit. A clone without that ledger has no such record, only the commit.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import LedgerFormatError, UsageError
from skillopt.gate.comparison import Verdict
from skillopt.loop.events import DraftChanged, DraftGraded, EditScreened, Event, VersionAccepted, decode_event
from skillopt.runs.version_message import grade_of
from skillopt.skills.edits import Change
from skillopt.storage.ledger import Ledger
from skillopt.versions.commit_message import Version

__all__ = ["RecordedEdit", "RecordedVersion", "recorded_versions"]

_RUN, _STEP = "Skillopt-Run", "Skillopt-Step"


@dataclass(frozen=True, slots=True)
class RecordedEdit:
    """An edit of a version."""

    change: Change
    ablation: EditScreened | None


@dataclass(frozen=True, slots=True)
class RecordedVersion:
    """Ledger record of a version or a draft: the gate's verdict, None for a draft, and its edits."""

    verdict: Verdict | None
    edits: tuple[RecordedEdit, ...]


def recorded_versions(root: Path, versions: Sequence[Version]) -> dict[str, RecordedVersion]:
    """Read the records of versions, by commit; versions without one are left out."""
    found: dict[str, RecordedVersion] = {}
    try:
        opened = closing(Ledger.open(root, read_only=True))
    except LedgerFormatError:
        raise
    except UsageError:  # there is no ledger
        return found
    with opened as ledger:
        events: dict[str, list[Event]] = {}
        for version in versions:
            run = version.trailer(_RUN)
            if run not in events and ledger.find_run(run) is None:
                continue
            if run not in events:
                events[run] = [decode_event(row.kind, row.payload) for row in ledger.events(run)]
            step = version.trailer(_STEP)
            recorded = _accepted(events[run], step) if step else _draft(events[run], version)
            if recorded is not None:
                found[version.sha] = recorded
    return found


def _accepted(events: Sequence[Event], step: str) -> RecordedVersion | None:
    accepted = [event for event in events if isinstance(event, VersionAccepted) and str(event.step) == step]
    if not accepted:
        return None
    return RecordedVersion(accepted[-1].verdict, _edits(events, accepted[-1].changes))


def _draft(events: Sequence[Event], version: Version) -> RecordedVersion | None:
    """Find a draft, or a version that was one: the newest of its run."""
    if not grade_of(version.trailers):
        return None
    drafts = [event for event in events if isinstance(event, DraftChanged | DraftGraded) and event.changes]
    return RecordedVersion(None, _edits(events, drafts[-1].changes)) if drafts else None


def _edits(events: Sequence[Event], changes: Sequence[Change]) -> tuple[RecordedEdit, ...]:
    found = {one.edit.id: one for one in events if isinstance(one, EditScreened)}
    return tuple(RecordedEdit(change, found.get(change.edit.id)) for change in changes)
