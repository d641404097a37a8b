"""Ledger record of an accepted version: its edits, the tasks that motivated them, and their screening results.

It is found by the trailers of the commit. A clone without that ledger has no such record, only the commit.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import LedgerFormatError, UsageError
from skillopt.gate.comparison import Verdict
from skillopt.loop.events import EditScreened, Event, VersionAccepted, decode_event
from skillopt.skills.edits import Change
from skillopt.storage.ledger import Ledger
from skillopt.versions.commit_message import Version

__all__ = ["RecordedEdit", "RecordedVersion", "recorded_versions"]

_RUN, _STEP = "Skillopt-Run", "Skillopt-Step"


@dataclass(frozen=True, slots=True)
class RecordedEdit:
    """An edit of a version.

    Args:
        change: The edit as it was applied; its rationale is untrusted, as is all that models wrote.
        screened: Its result alone, on the tasks that it cites; None where it was not screened.
    """

    change: Change
    screened: EditScreened | None


@dataclass(frozen=True, slots=True)
class RecordedVersion:
    """Ledger record of a version: the gate's verdict, and its edits."""

    verdict: Verdict
    edits: tuple[RecordedEdit, ...]


def recorded_versions(root: Path, versions: Sequence[Version]) -> dict[str, RecordedVersion]:
    """Read the records of versions, by commit; versions without one are left out.

    Args:
        root: The project.
        versions: Of one skill.
    """
    found: dict[str, RecordedVersion] = {}
    try:
        opened = closing(Ledger.open(root, read_only=True))
    except LedgerFormatError:
        raise
    except UsageError:  # there is no ledger
        return found
    with opened as ledger:
        known = {run.id for run in ledger.runs()}
        events: dict[str, list[Event]] = {}
        for version in versions:
            run = version.trailer(_RUN)
            if run not in known:
                continue
            if run not in events:
                events[run] = [decode_event(row.kind, row.payload) for row in ledger.events(run)]
            recorded = _recorded(events[run], version.trailer(_STEP))
            if recorded is not None:
                found[version.sha] = recorded
    return found


def _recorded(events: Sequence[Event], step: str) -> RecordedVersion | None:
    accepted = [event for event in events if isinstance(event, VersionAccepted) and str(event.step) == step]
    if not accepted:
        return None
    event = accepted[-1]
    screens = {one.edit.id: one for one in events if isinstance(one, EditScreened) and one.step <= event.step}
    edits = tuple(RecordedEdit(change, screens.get(change.edit.id)) for change in event.changes)
    return RecordedVersion(event.verdict, edits)
