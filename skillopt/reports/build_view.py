"""Build the view of a run from its events, recorded rollouts and commits.

Decides what became of each edit in the end, and how each task went under each version.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TypeVar

from skillopt.gate.comparison import Outcome, Verdict
from skillopt.gate.headline import headline_of_verdict, passed_words
from skillopt.loop.events import (
    BaselineMeasured,
    CapsRaised,
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
    RunStarted,
    SiblingMeasured,
    StepFailed,
    StepStarted,
    TasksSetAside,
    TrainMeasured,
    VerifierSuspected,
    VersionAccepted,
    newest_draft,
)
from skillopt.loop.gained import gained_by_draft, gained_by_run
from skillopt.reports.view import (
    FOLDS,
    Ablation,
    Cell,
    DraftView,
    EditView,
    Fate,
    GateView,
    HeatRow,
    RunView,
    StepView,
    VersionView,
)
from skillopt.rollouts import Score
from skillopt.settings import Metric
from skillopt.skills.document import Skill, SkillDocument, estimate_tokens
from skillopt.skills.edits import Edit
from skillopt.storage.ledger import ResultRow
from skillopt.tasks import Split

__all__ = ["RunRecords", "build_view", "digests_of", "text_digest"]

_FATES = {Outcome.ACCEPT: Fate.ACCEPTED, Outcome.INCONCLUSIVE: Fate.INCONCLUSIVE}
_UNMOVED = "it moved none of the tasks that it cites"
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class RunRecords:
    """What is recorded of a run; `draft` is its commit, the version that a person made of it, and its marks."""

    start: Skill
    events: Sequence[tuple[str, Event]]
    results: Sequence[ResultRow] = ()
    splits: Mapping[str, Split] = field(default_factory=dict)
    commits: Mapping[int, str] = field(default_factory=dict)
    draft: tuple[str, ...] = ("", "")
    folds: tuple[frozenset[str], ...] = ()


def digests_of(start: Skill, events: Iterable[tuple[str, Event]]) -> tuple[str, ...]:
    """List the skills that a run compared on tasks that no edit was made from, whose rollouts a view needs."""
    found = [start.digest]
    for _, event in events:
        if isinstance(event, GateDecided | VersionAccepted) and event.text:
            found.append(text_digest(start, event.text))
        if isinstance(event, GateDecided):
            found += event.judged
        elif isinstance(event, HeldOutTestMeasured) and event.released:
            found.append(event.released)
    return tuple(dict.fromkeys(found))


def text_digest(start: Skill, text: str) -> str:
    """Identify the skill that training starts from with another SKILL.md."""
    return start.with_document(SkillDocument(text)).digest


def build_view(head: RunView, recorded: RunRecords) -> RunView:
    """Build the view of a run from its record."""
    events = [event for _, event in recorded.events]
    gates = _gates(recorded.events)
    versions = _versions(head, recorded, gates)
    splits = recorded.splits.values()
    counts = {split.value: sum(one is split for one in splits) for split in Split} if splits else {}
    if recorded.folds:
        counts = dict(zip(FOLDS, map(len, recorded.folds), strict=True))
    caps, ended = _last(events, CapsRaised), _last(events, RunEnded)
    started, aside = _last(events, RunStarted), _last(events, TasksSetAside)
    withheld = _last(events, ReleaseCheckWithheld)
    if caps is not None:
        limits = (caps.max_rollouts, caps.max_usd, caps.max_tokens)
        raised = dict(zip(("rollouts", "usd", "tokens"), (cap or 0 for cap in limits), strict=True))
        head = replace(head, limits=raised)
    if ended is not None:
        asked = replace(head.rollouts, asked=ended.rollouts), replace(head.calls, asked=ended.calls)
        head = replace(head, rollouts=asked[0], calls=asked[1])
    return replace(
        head,
        suite=started.suite if started else "",
        steps_planned=started.steps if started else 0,
        splits=counts,
        headline=gained_by_run(events),
        baseline=_last(events, BaselineMeasured),
        steps=_steps(events),
        edits=_EditFates(recorded).views,
        gates=tuple(gates),
        versions=tuple(versions),
        test=_last(events, HeldOutTestMeasured),
        test_withheld=withheld.reason if withheld else "",
        heat=tuple(_heat(recorded, versions, Metric(head.metric) if head.metric else Metric.SOFT)),
        suspects=tuple(_all(events, VerifierSuspected)),
        set_aside=aside.tasks if aside else (),
        skipped=tuple(_all(events, PromptSkipped)),
        siblings=tuple(map(str, _all(events, SiblingMeasured))),
        draft=_draft(head, recorded, events),
    )


def _all(events: Iterable[Event], kind: type[_Kind]) -> list[_Kind]:
    return [event for event in events if isinstance(event, kind)]


def _last(events: Iterable[Event], kind: type[_Kind]) -> _Kind | None:
    return next(reversed(_all(events, kind)), None)


def _steps(events: Iterable[Event]) -> tuple[StepView, ...]:
    steps: dict[int, StepView] = {}
    for event in events:
        if not isinstance(event, StepStarted | TrainMeasured | PatchTested | StepFailed):
            continue
        known = steps.get(event.step, StepView(event.step))
        match event:
            case TrainMeasured():
                known = replace(known, train=event.tally)
            case PatchTested():
                known = replace(known, patch_tests=(*known.patch_tests, event))
            case StepFailed():
                known = replace(known, failure=f"{event.stage}: {event.reason}")
        steps[event.step] = known
    return tuple(steps.values())


def _gates(events: Iterable[tuple[str, Event]]) -> list[GateView]:
    gates: list[GateView] = []
    for at, event in events:
        if isinstance(event, GateDecided):
            ids = tuple(change.edit.id for change in event.changes)
            number, asked = len(gates) + 1, event.rollouts or 0
            gates.append(GateView(number, event.step, event.kind, event.verdict, at, ids, asked))
        elif isinstance(event, VersionAccepted) and gates:
            gates[-1] = replace(gates[-1], version=event.number, rollouts=event.rollouts)
    return gates


def _versions(head: RunView, recorded: RunRecords, gates: Sequence[GateView]) -> list[VersionView]:
    """List the texts: the first as the first gate measured it, beside its candidate, else as the baseline."""
    start, events = recorded.start, [event for _, event in recorded.events]
    text = start.document.text
    first = VersionView(0, recorded.commits.get(0, head.base), start.digest, text, estimate_tokens(text))
    if (baseline := _last(events, BaselineMeasured)) is not None:
        tally = baseline.tally
        first = replace(first, passed=passed_words(tally.passed * tally.measured, tally.measured))
    if gates:
        first = _measured(first, gates[0].verdict, 0)
    found = [first]
    for event in events:
        if isinstance(event, VersionAccepted):
            commit = recorded.commits.get(event.number, "")
            digest, tokens = text_digest(start, event.text), estimate_tokens(event.text)
            made = VersionView(event.number, commit, digest, event.text, tokens, event.kind)
            made = _measured(made, event.verdict, 1)
            found.append(replace(made, expected=event.verdict.expected, grading=event.grading))
    return found


def _measured(version: VersionView, verdict: Verdict, side: int) -> VersionView:
    """Add what a comparison measured of a version: the incumbent is side 0, the candidate side 1."""
    passed, score = version.passed, (verdict.before, verdict.after)[side]
    if (headline := headline_of_verdict(verdict)) is not None:
        passed = (headline.before, headline.after)[side]
    usd, turns = (verdict.costs[side].usd, verdict.costs[side].turns) if verdict.costs else (None, None)
    return replace(version, score=score, passed=passed, usd=usd, turns=turns)


def _draft(head: RunView, recorded: RunRecords, events: Sequence[Event]) -> DraftView | None:
    if (found := newest_draft(events)) is None:
        return None
    commit, taken, *marks = recorded.draft
    grading = found.grading if isinstance(found, DraftGraded) else None
    edits = tuple(change.edit.id for change in found.changes)
    branch = f"skillopt-draft/{head.skill}"
    return DraftView(found.text, edits, grading, branch, commit, taken, gained_by_draft(events), tuple(marks))


def _heat(recorded: RunRecords, versions: Sequence[VersionView], metric: Metric) -> Iterator[HeatRow]:
    """Show how each task went under each version, or with folds under what was run on its fold in a version's place."""
    results: dict[tuple[str, str], list[ResultRow]] = defaultdict(list)
    for row in recorded.results:
        results[row.skill, row.task].append(row)
    judged = {
        (text_digest(recorded.start, event.text), task): one
        for _, event in recorded.events
        if isinstance(event, GateDecided) and event.text
        for one, fold in zip(event.judged, recorded.folds, strict=False)
        for task in fold
    }
    digests = [version.digest for version in versions]
    splits = {task: split.value for task, split in recorded.splits.items()}
    splits |= {task: name for name, fold in zip(FOLDS, recorded.folds, strict=False) for task in fold}
    others = sorted({task for skill, task in results if skill in digests} - splits.keys())
    for task in (*splits, *others):
        rows = [results.get((judged.get((skill, task), skill), task), []) for skill in digests]
        yield HeatRow(task, splits.get(task, ""), tuple(_cell(one, metric) for one in rows))


def _cell(rows: Sequence[ResultRow], metric: Metric) -> Cell:
    scores = [metric.of(Score(row.score, passed=row.passed)) for row in rows]
    return Cell(len(rows), sum(row.passed for row in rows), fmean(scores) if scores else None)


class _EditFates:
    """Follows the edits of a run through its events; each ends with the last that befell it."""

    def __init__(self, recorded: RunRecords) -> None:
        self._train = _taught(recorded)
        self._edits: dict[str, EditView] = {}
        self._text = recorded.start.document.text
        self._gates = 0
        for _, event in recorded.events:
            self._note(event)

    @property
    def views(self) -> tuple[EditView, ...]:
        """All edits in the order in which they were first told of."""
        return tuple(self._edits.values())

    def _note(self, event: Event) -> None:
        match event:
            case EditRefused():
                self._refused(event)
            case PatchTested():
                for edit in event.edits:  # those that did something are told of again, by ablation or in the draft
                    self._put(edit, event.step, fate=Fate.UNMOVED, reason=_UNMOVED)
            case EditScreened():
                found = Ablation(event.tasks, event.before, event.after)
                fate = Fate.JOINED if event.kept else Fate.NOT_NEEDED
                self._put(event.edit, event.step, fate=fate, reason=event.reason, ablation=found)
            case DraftChanged() | DraftGraded() | GateDecided() | VersionAccepted():
                self._gates += isinstance(event, GateDecided)
                for change in event.changes:
                    self._changed(change.edit, event)
                if isinstance(event, VersionAccepted):
                    self._text = event.text
            case _:
                pass

    def _changed(self, edit: Edit, event: DraftChanged | DraftGraded | GateDecided | VersionAccepted) -> None:
        known = self._put(edit, 0 if isinstance(event, DraftGraded) else event.step)
        if isinstance(event, GateDecided):
            fate = _FATES.get(event.verdict.outcome, Fate.REJECTED)
            self._put(edit, event.step, fate=fate, reason=event.verdict.reason, gate=self._gates)
        elif isinstance(event, VersionAccepted):
            self._put(edit, event.step, version=event.number)
        elif known.fate in (Fate.UNMOVED, Fate.NOT_NEEDED):  # it works beside others, or the run ended before a test
            self._put(edit, known.step, fate=Fate.JOINED, reason="")

    def _refused(self, event: EditRefused) -> None:
        """Note why an edit is not taken up, or, where it was taken up before, why it goes."""
        before = self._edits.get(event.edit.id)
        if before is None:
            self._put(event.edit, event.step, fate=Fate.REFUSED, reason=event.reason)
        elif before.version is None:  # else the version has it, whatever the draft does
            fate = before.fate if before.fate is Fate.UNMOVED else Fate.NOT_NEEDED
            self._put(event.edit, event.step, fate=fate, reason=event.reason)

    def _put(self, edit: Edit, step: int, **changes: object) -> EditView:
        known = self._edits.get(edit.id) or self._first(edit, step)
        self._edits[edit.id] = known = replace(known, **changes)  # type: ignore[arg-type]  # fields by their names
        return known

    def _first(self, edit: Edit, step: int) -> EditView:
        document, after = SkillDocument(self._text), edit.content.strip("\n")
        before = "" if edit.op.value == "add" else edit.anchor
        place = document.text.find(edit.anchor, document.body_start) if edit.anchor else -1
        around = [section.title for section in document.sections if section.start <= place < section.end]
        section = edit.section or (around[-1] if around else "")
        # A model may cite what it never saw; only tasks that it was shown can have motivated anything.
        cited = tuple(task for task in edit.tasks if self._train is None or task in self._train)
        tokens = estimate_tokens(after), estimate_tokens(before)
        return EditView(edit.id, step, edit.op.value, section, before, after, edit.rationale, cited, *tokens)


def _taught(recorded: RunRecords) -> Collection[str] | None:
    """Return tasks that edits may be made from, those of both folds where there are any; None when not known."""
    folded = frozenset().union(*recorded.folds)
    train = {task for task, split in recorded.splits.items() if split is Split.TRAIN or task in folded}
    return train if recorded.splits else None
