"""Load the view of a run from ledger and git, with rollouts that look suspicious; nothing is written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from skillopt.errors import SkilloptError, UsageError
from skillopt.loop.events import DraftChanged, DraftGraded, Event, GateDecided, VersionAccepted, decode_event
from skillopt.loop.rollout_plan import SECOND_FOLD, settle_folds
from skillopt.loop.siblings import without_siblings
from skillopt.project import Project, Selection
from skillopt.reports.build_view import RunRecords, build_view, digests_of, text_digest
from skillopt.reports.view import SEEN_SPLITS, AskedAndPaid, RunView
from skillopt.review.inspection import RunRollouts, find_suspicions
from skillopt.safety.credentials import mask
from skillopt.safety.text_classes import NEEDS_A_PERSON
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.folder import decode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import is_locked
from skillopt.tasks import Suite
from skillopt.versions.commit_message import commit_kind
from skillopt.versions.decisions import declined_runs
from skillopt.versions.draft_branch import DraftBranch

__all__ = ["find_run", "load_progress", "load_view"]

_NEWEST = 1_000
"""Runs among which one that is no gate is looked for."""


def find_run(ledger: Ledger, name: str | None = None) -> RunRecord:
    """Find the training or proposal that a user means; a gate reports itself."""
    trained = [run for run in ledger.runs(name or "", -1 if name else _NEWEST) if run.kind != "gate"]
    if trained:
        return trained[0]
    if name is None or not ledger.runs(most=1):
        raise UsageError("no runs yet; train a skill with `skillopt optimize`")
    found = ledger.run(name)
    if found.kind == "gate":
        again = f"`skillopt gate {found.base}`, which replays what is recorded and costs nothing"
        raise UsageError(f"expected a run that trained, found the gate {found.id}; its report is that of {again}")
    return found


def load_view(
    project: Project, ledger: Ledger, record: RunRecord, suite: Path | None = None, *, all_splits: bool = False
) -> RunView:
    """Put together what is recorded of a run, with suspicious rollouts where its suite is at hand."""
    start, events = _start_and_events(ledger, record)
    head = _head(project, ledger, record)
    declined = declined_runs(project.repository, [record.skill]).get(record.id, "")
    head = replace(head, reason="; ".join(filter(None, (head.reason, declined))))
    tasks = _suite_of_run(project, record, suite)
    splits = {task.id: split for split, task in tasks.splits} if tasks else {}
    folds = tuple(frozenset(task.id for task in fold) for fold in (tasks.folds if tasks else None) or ())
    identity = head.target + (f" judge={head.judge}" if head.judge else "")
    results = ledger.results(digests_of(start, events), identity)
    view = build_view(head, RunRecords(start, events, results, splits, *_in_git(project, record), folds))
    if tasks is None:
        return view
    found = find_suspicions(_run_rollouts(ledger, record, identity, tasks, start, [event for _, event in events]))
    shown = {row.task for row in view.heat if all_splits or row.split in SEEN_SPLITS}
    # The quotes of held-out tasks may teach nobody who writes edits.
    return replace(
        view, suspicions=tuple(replace(one, quote=mask(one.quote) if one.task in shown else "") for one in found)
    )


def load_progress(project: Project, ledger: Ledger, record: RunRecord) -> RunView:
    """Put together how far a run is, without what single tasks came to, which takes longer to read."""
    return build_view(_head(project, ledger, record), RunRecords(*_start_and_events(ledger, record)))


def _start_and_events(ledger: Ledger, record: RunRecord) -> tuple[Skill, list[tuple[str, Event]]]:
    """Return the skill that a run starts from, and its events."""
    events = [(row.at, decode_event(row.kind, row.payload)) for row in ledger.events(record.id)]
    return decode_skill(record.skill, record.start), events


def _head(project: Project, ledger: Ledger, record: RunRecord) -> RunView:
    identity, target, model, *rest = without_siblings(json.loads(record.config))
    settings: dict[str, object] = json.loads(identity)
    gone = record.state == "running" and not is_locked(project.root, record.skill)
    spend = ledger.spending(record.id)
    return RunView(
        run=record.id,
        skill=record.skill,
        kind=record.kind,
        state="interrupted" if gone else record.state,
        reason=record.reason,
        started=record.started_at,
        ended=record.ended_at,
        branch=f"skillopt/{record.skill}",
        base=record.base,
        suite_digest=record.suite_digest,
        target=target,
        model=model,
        # Beside training, the last part says what was asked for.
        judge=rest[0] if len(rest) > (record.kind != "training") else "",
        preset=str(settings.get("preset", "")),
        metric=str(settings.get("metric", "")),
        gate_rule=str(settings.get("gate", "")),
        confidence=_number(settings, "confidence") or 0.9,
        settings=tuple(
            (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in settings.items()
            if value is not None
        ),
        limits={name: _number(settings, f"max_{name}") for name in ("rollouts", "usd", "tokens")},
        spend=spend,
        rollouts=AskedAndPaid(None, spend["target"].calls if "target" in spend else 0),
        calls=AskedAndPaid(None, spend["optimizer"].calls if "optimizer" in spend else 0),
    )


def _number(settings: Mapping[str, object], name: str) -> float:
    found = settings.get(name)
    return float(found) if isinstance(found, int | float) else 0.0


def _suite_of_run(project: Project, record: RunRecord, path: Path | None) -> Suite | None:
    """Return the suite as the run used it; None when it is not there or not the one of the run."""
    try:
        suite = project.target(Selection(str(project.root / record.skill_path), {}, path)).suite()
    except SkilloptError:
        return None
    if suite.digest != record.suite_digest:
        return None
    if record.kind == "training":
        return settle_folds(suite, Settings.model_validate_json(json.loads(record.config)[0]))
    if record.kind == "proposal" and suite.folds and json.loads(record.config)[-1].endswith(SECOND_FOLD):
        return suite.fold_suites[1]
    return suite.first_fold_suite


def _in_git(project: Project, record: RunRecord) -> tuple[Mapping[int, str], tuple[str, ...]]:
    """Return commits of a run's versions by their numbers, 0 for a start that was committed, and of its draft.

    Of the draft they are its commit, the version that a person made of it (each empty where there is none), its marks.
    """
    try:
        repository = project.repository()
        versions = repository.versions(record.skill)
        draft = DraftBranch(repository, record.skill, record.skill_path).read()
    except SkilloptError:
        return {}, ("", "")
    made = [version for version in reversed(versions) if version.trailer("Skillopt-Run") == record.id]
    accepted = [version.sha for version in made if version.trailer("Val-After")]
    starts = [version.sha for version in made if commit_kind(version) == "start"]
    taken = next((version.sha for version in reversed(made) if version.trailer("Taken-By")), "")
    commits = dict(enumerate(accepted, 1)) | dict(enumerate(starts[:1]))
    if draft is None or draft.trailer("Skillopt-Run") != record.id:
        return commits, ("", taken)
    return commits, (draft.sha, taken, *draft.values(NEEDS_A_PERSON))


def _run_rollouts(
    ledger: Ledger, record: RunRecord, identity: str, tasks: Suite, start: Skill, events: Sequence[Event]
) -> RunRollouts:
    """Read the rollouts of a run, before training and under what it wrote."""
    wrote = (DraftChanged, DraftGraded, GateDecided, VersionAccepted)
    texts = {text_digest(start, event.text): event.text for event in events if isinstance(event, wrote) and event.text}
    rows = ledger.run_results(record.id, [start.digest, *texts], identity)
    before = [row.key for row in rows if row.skill == start.digest]
    # Without a skill there is no text that training could have written.
    after = [row.key for row in rows if row.skill not in ("", start.digest)]
    found = ledger.rollouts([*before, *after])
    ordinary, trained = ([found[key] for key in keys if key in found] for keys in (before, after))
    return RunRollouts([task for _, task in tasks.splits], ordinary, trained, start.document.text, texts)
