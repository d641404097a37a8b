"""Build the view of a run from its events, recorded rollouts and commits; nothing is written."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.records import recorded_acts, recorded_events, scored_by
from skillopt.figures import headline_of_verdict, tally_passed
from skillopt.gate.decide import Outcome, Verdict
from skillopt.loop.caps import settle_folds
from skillopt.loop.events import (
    BaselineMeasured,
    DraftChanged,
    DraftGraded,
    EditRefused,
    EditScreened,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    PatchTested,
    PromptSkipped,
    ReleaseCheckWithheld,
    RunEnded,
    TasksSetAside,
    TextScreened,
    VerifierSuspected,
    VersionAccepted,
    gained_by_draft,
    gained_by_run,
    newest_draft,
)
from skillopt.project import Project, Selection
from skillopt.reports.lines import RunLines
from skillopt.reports.view import (
    FOLDS,
    SEEN_SPLITS,
    Cell,
    DraftView,
    EditView,
    Fate,
    GateView,
    HeatRow,
    RunView,
    VersionView,
)
from skillopt.review.inspection import find_suspicions
from skillopt.safety.credentials import mask
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument, estimate_tokens
from skillopt.skills.edits import Edit
from skillopt.skills.folder import decode_skill
from skillopt.skills.trained_files import SkillPlace
from skillopt.storage.ledger import Ledger, ResultRow, RunRecord
from skillopt.storage.locks import is_locked
from skillopt.tasks import Suite
from skillopt.versions.branches import DraftBranch
from skillopt.versions.commit_message import NEEDS_A_PERSON, commit_kind

_NEWEST = 1_000  # runs among which one that is no gate is looked for


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


def load_view(project: Project, ledger: Ledger, record: RunRecord, suite: Path | None = None) -> RunView:
    """Put together what is recorded of a run, with suspicious rollouts where its suite is at hand."""
    start = decode_skill(record.skill, record.start)
    events = recorded_events(ledger, record.id)
    head = _head(project, ledger, record)
    tasks = _suite_of_run(project, record, suite)
    splits = {task.id: split.value for split, task in tasks.splits} if tasks else {}
    for name, fold in zip(FOLDS, (tasks.folds if tasks else None) or (), strict=False):
        splits |= {task.id: name for task in fold}
    identity = scored_by(record)
    wrote = (DraftChanged, DraftGraded, GateDecided, VersionAccepted)
    texts = {_text_digest(start, event.text) for event in events if isinstance(event, wrote) and event.text}
    results = ledger.run_results(record.id, [start.digest, *texts], identity)
    commits, draft = _in_git(project, record)
    view = build_view(head, RunRecords(start, events, results, splits, commits, draft=draft))
    if tasks is None:
        return view
    before = [row.key for row in results if row.skill == start.digest]
    # Without a skill there is no text that training could have written.
    after = [row.key for row in results if row.skill not in ("", start.digest)]
    known = ledger.rollouts([*before, *after])
    ordinary, trained = ([known[key] for key in keys if key in known] for keys in (before, after))
    found = find_suspicions([task for _, task in tasks.splits], ordinary, trained, start.document.text)
    offered = view.draft or next(reversed(view.accepted), None)
    newest = _text_digest(start, offered.text) if offered else ""
    shown = {row.task for row in view.heat if row.split in SEEN_SPLITS}
    # The quotes of held-out tasks may teach nobody who writes edits.
    return replace(
        view,
        suspicions=tuple(replace(one, quote=mask(one.quote) if one.task in shown else "") for one in found),
        new_acts=recorded_acts(ledger, record, newest) if newest else (),
    )


def _head(project: Project, ledger: Ledger, record: RunRecord) -> RunView:
    _, target, model, *rest = json.loads(record.config)
    settings = record.settings
    gone = record.state == "running" and not is_locked(project.root, record.skill)
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
        confidence=float(str(settings.get("confidence") or 0.9)),
        settings=tuple(
            (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in settings.items()
            if value is not None
        ),
        spend=ledger.spending(record.id),
    )


def _suite_of_run(project: Project, record: RunRecord, path: Path | None) -> Suite | None:
    """Return the suite as the run used it; None when it is not there or not the one of the run."""
    try:
        place = SkillPlace.parse(record.skill_path)
        name = record.skill if place.free else str(project.root / place.folder)
        suite = project.target(Selection(name, {}, path)).suite()
    except SkilloptError:
        return None
    if suite.digest != record.suite_digest:
        return None
    return settle_folds(suite, Settings.model_validate_json(json.loads(record.config)[0]))


def _in_git(project: Project, record: RunRecord) -> tuple[Mapping[int, str], tuple[str, ...]]:
    """Return a run's commits by version, 0 a committed start, and its draft: commit, version made of it, and marks."""
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


_FATES = {Outcome.ACCEPT: Fate.ACCEPTED, Outcome.INCONCLUSIVE: Fate.INCONCLUSIVE}
_UNMOVED = "it moved none of the tasks that it cites"
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class RunRecords:
    """What is recorded of a run: of each task its split or fold, and of the draft its commit, version and marks."""

    start: Skill
    events: Sequence[Event]
    results: Sequence[ResultRow] = ()
    splits: Mapping[str, str] = field(default_factory=dict)
    commits: Mapping[int, str] = field(default_factory=dict)
    draft: tuple[str, ...] = ("", "")


def _text_digest(start: Skill, text: str) -> str:
    """Identify the skill that training starts from with another SKILL.md."""
    return start.with_document(SkillDocument(text)).digest


def build_view(head: RunView, recorded: RunRecords) -> RunView:
    """Build the view of a run from its record."""
    events, gates = recorded.events, _gates(recorded.events)
    versions = _versions(head, recorded, gates)
    ended, aside = _last(events, RunEnded), _last(events, TasksSetAside)
    withheld, log = _last(events, ReleaseCheckWithheld), RunLines()
    return replace(
        head,
        rollouts=ended.rollouts if ended else None,
        splits=dict(Counter(recorded.splits.values())),
        headline=gained_by_run(events),
        steps=tuple(step for event in events for step in log.note(event)),
        patch_tests=tuple(_all(events, PatchTested)),
        edits=tuple(_EditFates(recorded).edits.values()),
        gates=tuple(gates),
        versions=tuple(versions),
        test=_last(events, HeldOutTestMeasured),
        test_withheld=withheld.reason if withheld else "",
        heat=tuple(_heat(recorded, versions)),
        suspects=tuple(_all(events, VerifierSuspected)),
        set_aside=dict(aside.reasons) if aside else {},
        skipped=tuple(_all(events, PromptSkipped)),
        draft=_draft(head, recorded, events),
        units=tuple(_all(events, TextScreened)),
    )


def _all(events: Iterable[Event], kind: type[_Kind]) -> list[_Kind]:
    return [event for event in events if isinstance(event, kind)]


def _last(events: Iterable[Event], kind: type[_Kind]) -> _Kind | None:
    return next(reversed(_all(events, kind)), None)


def _gates(events: Sequence[Event]) -> list[GateView]:
    accepted = {event.text: event.number for event in _all(events, VersionAccepted)}
    return [
        GateView(
            event.kind,
            event.verdict,
            tuple(change.edit.id for change in event.changes),
            accepted.get(event.text) if event.verdict.accepted else None,
        )
        for event in _all(events, GateDecided)
    ]


def _versions(head: RunView, recorded: RunRecords, gates: Sequence[GateView]) -> list[VersionView]:
    """List the texts: the first as the first gate measured it, beside its candidate, else as the baseline."""
    start, events = recorded.start, recorded.events
    text = start.document.text
    first = VersionView(0, recorded.commits.get(0, head.base), start.digest, text, estimate_tokens(text))
    if (baseline := _last(events, BaselineMeasured)) is not None:
        first = replace(first, passed=tally_passed(baseline.tally), score=baseline.tally.score)
    found = [_measured(first, gates[0].verdict, 0) if gates else first]
    for event in _all(events, VersionAccepted):
        commit, digest = recorded.commits.get(event.number, ""), _text_digest(start, event.text)
        made = VersionView(event.number, commit, digest, event.text, estimate_tokens(event.text))
        found.append(_measured(replace(made, grading=event.grading), event.verdict, 1))
    return found


def _measured(version: VersionView, verdict: Verdict, side: int) -> VersionView:
    """Add what a comparison measured of a version: the incumbent is side 0, the candidate side 1."""
    passed, score = version.passed, version.score
    if (headline := headline_of_verdict(verdict)) is not None:
        passed, score = ((headline.before, headline.score_before), (headline.after, headline.score_after))[side]
    return replace(version, score=score, passed=passed)


def _draft(head: RunView, recorded: RunRecords, events: Sequence[Event]) -> DraftView | None:
    if (found := newest_draft(events)) is None:
        return None
    commit, taken, *marks = recorded.draft
    return DraftView(
        found.text,
        tuple(change.edit.id for change in found.changes),
        found.grading if isinstance(found, DraftGraded) else None,
        f"skillopt-draft/{head.skill}",
        commit=commit,
        taken=taken,
        headline=gained_by_draft(events),
        marks=tuple(marks),
    )


def _heat(recorded: RunRecords, versions: Sequence[VersionView]) -> Iterator[HeatRow]:
    results: dict[tuple[str, str], list[ResultRow]] = defaultdict(list)
    for row in recorded.results:
        results[row.skill, row.task].append(row)
    digests = [version.digest for version in versions]
    others = sorted({task for skill, task in results if skill in digests} - recorded.splits.keys())
    for task in (*recorded.splits, *others):
        ran = (results.get((skill, task), []) for skill in digests)
        cells = (
            Cell(len(rows), sum(row.passed for row in rows), fmean(row.score for row in rows) if rows else None)
            for rows in ran
        )
        yield HeatRow(task, recorded.splits.get(task, ""), tuple(cells))


class _EditFates:
    """Follows the edits of a run through its events; each ends with the last that befell it."""

    def __init__(self, recorded: RunRecords) -> None:
        # Tasks that edits may be made from, those of both folds where there are any; empty when not known.
        self._train = {task for task, split in recorded.splits.items() if split in ("train", *FOLDS)}
        self.edits: dict[str, EditView] = {}  # in the order in which they were first told of
        self._text = recorded.start.document.text
        for event in recorded.events:
            self._note(event)

    def _note(self, event: Event) -> None:
        match event:
            case EditRefused():
                before = self.edits.get(event.edit.id)
                if before is None:
                    self._put(event.edit, fate=Fate.REFUSED, reason=event.reason)
                elif before.version is None:  # else the version has it, whatever the draft does
                    fate = before.fate if before.fate is Fate.UNMOVED else Fate.NOT_NEEDED
                    self._put(event.edit, fate=fate, reason=event.reason)
            case PatchTested():
                for edit in event.edits:  # those that did something are told of again, by ablation or in the draft
                    self._put(edit, fate=Fate.UNMOVED, reason=_UNMOVED)
            case EditScreened():
                kept = Fate.JOINED if event.kept else Fate.NOT_NEEDED
                self._put(event.edit, fate=kept, reason=event.reason, ablation=event)
            case DraftChanged() | DraftGraded() | GateDecided() | VersionAccepted():
                for change in event.changes:
                    self._changed(change.edit, event)
                if isinstance(event, VersionAccepted):
                    self._text = event.text
            case _:
                pass

    def _changed(self, edit: Edit, event: DraftChanged | DraftGraded | GateDecided | VersionAccepted) -> None:
        if isinstance(event, GateDecided):
            self._put(edit, fate=_FATES.get(event.verdict.outcome, Fate.REJECTED), reason=event.verdict.reason)
        elif isinstance(event, VersionAccepted):
            self._put(edit, version=event.number)
        # It works beside others, or the run ended before a test.
        elif self._put(edit).fate in (Fate.UNMOVED, Fate.NOT_NEEDED):
            self._put(edit, fate=Fate.JOINED, reason="")

    def _put(self, edit: Edit, **changes: object) -> EditView:
        known = self.edits.get(edit.id)
        if known is None:
            document = SkillDocument(self._text)
            place = document.text.find(edit.anchor, document.body_start) if edit.anchor else -1
            around = [section.title for section in document.sections if section.start <= place < section.end]
            section = " > ".join(filter(None, (edit.file, edit.section or (around[-1] if around else ""))))
            # A model may cite what it never saw; only tasks that it was shown can have motivated anything.
            known = EditView(edit, section, tuple(one for one in edit.tasks if one in (self._train or edit.tasks)))
        self.edits[edit.id] = known = replace(known, **changes)  # type: ignore[arg-type]  # fields by their names
        return known
