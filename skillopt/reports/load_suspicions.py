"""Look through the recorded rollouts of a run for scores that were got without the work; nothing is written."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from skillopt.errors import UsageError
from skillopt.loop.events import DraftChanged, DraftGraded, Event, GateDecided, VersionAccepted
from skillopt.project import Project
from skillopt.reports.load_view import load_view, start_and_events, suite_of_run, target_identity
from skillopt.reports.run_records import text_digest
from skillopt.reports.task_grid import SEEN_SPLITS
from skillopt.reports.view import RunView
from skillopt.review.inspection import RunRollouts, find_suspicions
from skillopt.review.signs import Suspicion
from skillopt.safety.credentials import mask
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger, RunRecord

__all__ = ["load_inspected_view", "run_rollouts"]


def run_rollouts(project: Project, ledger: Ledger, record: RunRecord, suite: Path | None = None) -> RunRollouts:
    """Read the rollouts of a run, before training and under what it wrote."""
    tasks = suite_of_run(project, record, suite)
    if tasks is None:
        raise UsageError(
            f"expected the suite of run {record.id} with digest {record.suite_digest[:10]}, found none: its tasks are "
            "needed to read what the rollouts did; check out the commit that it was trained on, or name it by --suite"
        )
    start, events = start_and_events(ledger, record)
    texts = dict(_texts(start, [event for _, event in events]))
    rows = ledger.run_results(record.id, [start.digest, *texts], target_identity(record))
    before = [row.key for row in rows if row.skill == start.digest]
    # Without a skill there is no text that training could have written.
    after = [row.key for row in rows if row.skill not in ("", start.digest)]
    found = ledger.rollouts([*before, *after])
    ordinary, trained = ([found[key] for key in keys if key in found] for keys in (before, after))
    return RunRollouts([task for _, task in tasks.splits], ordinary, trained, start.document.text, texts)


def load_inspected_view(
    project: Project, ledger: Ledger, record: RunRecord, suite: Path | None = None, *, all_splits: bool = False
) -> RunView:
    """Put together what is recorded of a run, with suspicious rollouts where its suite is at hand."""
    view = load_view(project, ledger, record, suite)
    try:
        found = find_suspicions(run_rollouts(project, ledger, record, suite))
    except UsageError:
        return view
    shown = found if all_splits else _without_held_out(found, view)
    return replace(view, suspicions=tuple(replace(one, quote=mask(one.quote)) for one in shown))


def _texts(start: Skill, events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """Return the texts that a run wrote, by the digest of the skill."""
    for event in events:
        if isinstance(event, DraftChanged | DraftGraded | GateDecided | VersionAccepted) and event.text:
            yield text_digest(start, event.text), event.text


def _without_held_out(found: Sequence[Suspicion], view: RunView) -> Iterator[Suspicion]:
    """Leave out the quotes of held-out tasks, which may teach nobody who writes edits."""
    splits = {row.task: row.split for row in view.heat}
    for one in found:
        yield one if splits.get(one.task) in SEEN_SPLITS else replace(one, quote="")
