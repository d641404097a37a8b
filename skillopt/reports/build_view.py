"""Build the view of a run from its events, recorded rollouts and commits.

Decides what became of each edit in the end, and which recorded rollouts belong to a comparison.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import Outcome, Tally, Verdict
from skillopt.gate.headline import headline_of_verdict, passed_words
from skillopt.gate.pareto import Worth, front, known_losses
from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, lower_limit, observe, upper_limit
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
)
from skillopt.loop.gained import gained_by_draft
from skillopt.reports.view import (
    FOLDS,
    AblationView,
    BaselineView,
    Cell,
    CurvePoint,
    DraftView,
    EditView,
    Fate,
    Funnel,
    GateView,
    HeatRow,
    PairView,
    PatchTestView,
    RunCaps,
    RunView,
    StepView,
    TestView,
    VersionView,
)
from skillopt.rollouts import Score, Stream
from skillopt.settings import Metric
from skillopt.skills.document import Skill, SkillDocument, estimate_tokens
from skillopt.skills.edits import Edit
from skillopt.storage.ledger import ResultRow
from skillopt.tasks import Split, digest_of

__all__ = ["RunRecords", "build_view", "digests_of", "text_digest"]

_AFTER_GATES: Final = Stream.LEARNING.repeat(0)
"""First repeat beyond those of the gate."""

_FATES = {Outcome.ACCEPT: Fate.ACCEPTED, Outcome.INCONCLUSIVE: Fate.INCONCLUSIVE}
_UNMOVED = "it moved none of the tasks that it cites"


@dataclass(frozen=True, slots=True)
class RunRecords:
    """What is recorded of a run."""

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
    return _Gathering(head, recorded).view()


class _Gathering:
    """Goes through the events once, keeping what each adds."""

    def __init__(self, head: RunView, recorded: RunRecords) -> None:
        self._view = head
        self._recorded = recorded
        self._metric = Metric(head.metric) if head.metric else Metric.SOFT
        self._results: dict[tuple[str, str], dict[int, ResultRow]] = defaultdict(dict)
        for row in recorded.results:
            self._results[row.skill, row.task][row.repeat] = row
        self._beside: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        self._judged: dict[tuple[str, str], str] = {}
        self._edits = _EditFates(self._train())
        self._gates: list[GateView] = []
        self._steps: dict[int, StepView] = {}
        self._curve: list[CurvePoint] = []
        text = recorded.start.document.text
        self._versions = [
            VersionView(0, recorded.commits.get(0, head.base), recorded.start.digest, text, estimate_tokens(text))
        ]

    def view(self) -> RunView:
        """Return the whole view."""
        for at, event in self._recorded.events:
            self._note(at, event)
        splits = self._recorded.splits
        counts = {split.value: sum(one is split for one in splits.values()) for split in Split} if splits else {}
        if self._recorded.folds:
            counts = dict(zip(FOLDS, map(len, self._recorded.folds), strict=True))
        return replace(
            self._view,
            splits=counts,
            steps=tuple(self._steps.values()),
            edits=self._edits.views,
            gates=tuple(self._gates),
            versions=_with_front(self._versions),
            curve=tuple(self._curve),
            funnel=self._edits.funnel,
            heat=self._heat(),
        )

    def _note(self, at: str, event: Event) -> None:
        self._edits.note(event, self._versions[-1].text)
        match event:
            case RunStarted():
                self._view = replace(self._view, suite=event.suite, steps_planned=event.steps)
            case BaselineMeasured():
                self._baseline(event)
            case StepStarted() | TrainMeasured() | PatchTested() | StepFailed():
                self._step(event)
            case GateDecided():
                self._gate(at, event)
            case VersionAccepted():
                self._version(at, event)
            case HeldOutTestMeasured():
                self._test(event)
            case _:
                self._other(event)

    def _other(self, event: Event) -> None:
        if isinstance(event, VerifierSuspected | PromptSkipped | SiblingMeasured):
            self._view = _with_found(self._view, event)
        elif isinstance(event, TasksSetAside):
            self._view = replace(self._view, set_aside=event.tasks)
        elif isinstance(event, DraftChanged | DraftGraded):
            self._draft(event)
        elif isinstance(event, ReleaseCheckWithheld):
            self._view = replace(self._view, test_withheld=event.reason)
        elif isinstance(event, CapsRaised):
            caps = RunCaps(event.max_rollouts or 0, event.max_usd or 0.0, event.max_tokens or 0)
            self._view = replace(self._view, limits=caps)
        elif isinstance(event, RunEnded):
            asked = replace(self._view.rollouts, asked=event.rollouts), replace(self._view.calls, asked=event.calls)
            self._view = replace(self._view, rollouts=asked[0], calls=asked[1])

    def _baseline(self, event: BaselineMeasured) -> None:
        score = _scored(event.tally, self._metric)
        self._view = replace(self._view, baseline=BaselineView(event.tally, score, event.noise, event.least_gain))
        passed = passed_words(event.tally.passed * event.tally.measured, event.tally.measured)
        self._curve.append(CurvePoint(0, event.tally.passed, "start", event.tally.passed, version=0, passed=passed))
        self._versions[0] = replace(self._versions[0], score=score, passed=passed)

    def _train(self) -> frozenset[str] | None:
        """Return tasks that edits may be made from, those of both folds where there are any; None when not known."""
        folded = frozenset().union(*self._recorded.folds)
        splits = self._recorded.splits
        train = frozenset(task for task, split in splits.items() if split is Split.TRAIN or task in folded)
        return train if splits else None

    def _step(self, event: StepStarted | TrainMeasured | PatchTested | StepFailed) -> None:
        known = self._steps.get(event.step, StepView(event.step, 0, 0))
        match event:
            case StepStarted():
                known = replace(known, epoch=event.epoch, edit_budget=event.edits)
            case TrainMeasured():
                known = replace(known, train=event.tally)
            case PatchTested():
                found = PatchTestView(tuple(edit.id for edit in event.edits), event.tasks, event.moved)
                known = replace(known, patch_tests=(*known.patch_tests, found))
            case StepFailed():
                known = replace(known, failure=f"{event.stage}: {event.reason}")
        self._steps[event.step] = known

    def _gate(self, at: str, event: GateDecided) -> None:
        number, verdict = len(self._gates) + 1, event.verdict
        if number == 1:
            self._first_gate(verdict)
        candidate = text_digest(self._recorded.start, event.text) if event.text else ""
        folds = self._recorded.folds
        self._judged |= {
            (candidate, task): one for one, fold in zip(event.judged, folds, strict=False) for task in fold
        }
        tasks = self._pairs(Split.VAL, self._versions[-1].digest, candidate)
        gate = GateView(number, event.step, event.kind, verdict, at, passed=event.passed)
        ids = tuple(change.edit.id for change in event.changes)
        limits = _limits(tasks, self._view.confidence)
        self._gates.append(replace(gate, edits=ids, interval=limits, tasks=tasks, rollouts=event.rollouts))
        if event.kind == "change":
            size, score = estimate_tokens(event.text), verdict.after
            changed = VersionView(1, "", candidate, event.text, size, 0, "change", score, number, at=at)
            self._versions.append(replace(changed, passed=_passed(verdict, after=True)))
        share = _share_passed(verdict, after=True)
        best = self._curve[-1].best if self._curve else _share_passed(verdict, after=False)
        if verdict.outcome is Outcome.ACCEPT:
            best = share
        point = CurvePoint(event.rollouts, share, verdict.outcome.value, best, number)
        self._curve.append(replace(point, passed=_passed(verdict, after=True)))

    def _first_gate(self, verdict: Verdict) -> None:
        """Begin with what the first gate measured of the text before: on the same tasks as its candidate."""
        usd, turns = _costs(verdict, 0)
        first, passed = self._versions[0], _passed(verdict, after=False)
        score = verdict.before if passed or first.score is None else first.score
        self._versions[0] = replace(first, score=score, usd=usd, turns=turns, passed=passed or first.passed)
        if self._curve and passed:
            share = _share_passed(verdict, after=False)
            self._curve[0] = replace(self._curve[0], score=share, best=share, passed=passed)

    def _version(self, at: str, event: VersionAccepted) -> None:
        number = event.number
        self._view = replace(self._view, draft=None)
        ids = tuple(change.edit.id for change in event.changes)
        version = VersionView(
            number,
            self._recorded.commits.get(number, ""),
            text_digest(self._recorded.start, event.text),
            event.text,
            estimate_tokens(event.text),
            event.step,
            event.kind,
            event.verdict.after,
            len(self._gates) or None,
            event.rollouts,
            ids,
            at,
            *_costs(event.verdict, 1),
            expected=event.verdict.expected,
            grading=event.grading,
            passed=_passed(event.verdict, after=True),
        )
        self._versions.append(version)
        if self._gates:
            self._gates[-1] = replace(self._gates[-1], version=number, rollouts=event.rollouts)
            self._curve[-1] = replace(self._curve[-1], version=number, rollouts=event.rollouts)

    def _draft(self, event: DraftChanged | DraftGraded) -> None:
        if not event.changes and isinstance(event, DraftChanged):
            self._view = replace(self._view, draft=None)
            return
        commit, taken, *marks = self._recorded.draft
        found = DraftView(
            event.text,
            estimate_tokens(event.text),
            tuple(change.edit.id for change in event.changes),
            event.grading if isinstance(event, DraftGraded) else None,
            f"skillopt-draft/{self._view.skill}",
            commit,
            taken,
            gained_by_draft(known for _, known in self._recorded.events),
            tuple(marks),
        )
        self._view = replace(self._view, draft=found)

    def _test(self, event: HeldOutTestMeasured) -> None:
        before = event.released or self._recorded.start.digest
        tasks = self._pairs(Split.TEST, before, self._versions[-1].digest)
        limits = _limits(tasks, self._view.confidence)
        found = TestView(event.before, event.after, event.verdict, limits, event.released, event.look, tasks)
        self._view = replace(self._view, test=found)

    def _pairs(self, split: Split, before: str, after: str) -> tuple[PairView, ...]:
        """Compare two skills task by task, on the repeats that both have where there are such."""
        tasks = [task for task, member in self._recorded.splits.items() if member is split]
        return tuple(self._pair(task, before, after) for task in tasks)

    def _pair(self, task: str, before: str, after: str) -> PairView:
        old, new = self._rows(before, task), self._rows(after, task)
        # The incumbent was run for other candidates, too; the strict rule alone compares with what was recorded then.
        if self._view.gate_rule != "strict":
            beside = {repeat: self._repeat_beside(before, task, repeat) for repeat in sorted(new)}
            new = {repeat: row for repeat, row in new.items() if beside[repeat] in old}
            old = {found: old[found] for repeat in new if (found := beside[repeat]) is not None}
        return PairView(task, *(self._mean(rows) for rows in (old, new)), *(_share(rows) for rows in (old, new)))

    def _rows(self, skill: str, task: str) -> Mapping[int, ResultRow]:
        """Return what was recorded of a task under a skill, or under what was run on its fold in the skill's place."""
        return self._results.get((self._judged.get((skill, task), skill), task), {})

    def _repeat_beside(self, before: str, task: str, repeat: int) -> int | None:
        """Return the incumbent's repeat that a candidate's was compared with.

        That is the same one, or one of the baseline, each of which decides once before the gate runs any other.
        """
        old, known = self._rows(before, task), self._beside[before, task]
        if repeat not in known and repeat in old:
            known[repeat] = repeat
        elif repeat not in known and repeat < _AFTER_GATES and not any(mine == other for mine, other in known.items()):
            earlier = sorted(one for one in old.keys() - known.values() if one < repeat)
            known |= dict.fromkeys([repeat], earlier[0]) if earlier else {}
        return known.get(repeat)

    def _mean(self, rows: Mapping[int, ResultRow]) -> float | None:
        return fmean(_value(row, self._metric) for row in rows.values()) if rows else None

    def _heat(self) -> tuple[HeatRow, ...]:
        known = self._recorded.splits or _named_splits(self._edits.views, self._gates, self._view.test)
        splits = {task: split.value for task, split in known.items()}
        splits |= {task: name for name, fold in zip(FOLDS, self._recorded.folds, strict=False) for task in fold}
        digests = [version.digest for version in self._versions]
        tasks = [*splits, *sorted({task for skill, task in self._results if skill in digests} - splits.keys())]
        return tuple(
            HeatRow(task, splits.get(task, ""), tuple(self._cell(skill, task) for skill in digests)) for task in tasks
        )

    def _cell(self, skill: str, task: str) -> Cell:
        rows = self._rows(skill, task)
        return Cell(len(rows), sum(row.passed for row in rows.values()), self._mean(rows))


def _with_found(view: RunView, event: VerifierSuspected | PromptSkipped | SiblingMeasured) -> RunView:
    match event:
        case VerifierSuspected():
            return replace(view, suspects=(*view.suspects, event))
        case PromptSkipped():
            return replace(view, skipped=(*view.skipped, event))
        case SiblingMeasured():
            return replace(view, siblings=(*view.siblings, str(event)))


def _passed(verdict: Verdict, *, after: bool) -> str:
    """Say the tasks that one side passed; empty where that was not recorded."""
    found = headline_of_verdict(verdict)
    return "" if found is None else found.after if after else found.before


def _share_passed(verdict: Verdict, *, after: bool) -> float:
    """Share of tasks that one side passed; its score where no task was measured on both sides."""
    found = headline_of_verdict(verdict)
    if found is None:
        return verdict.after if after else verdict.before
    return (found.passed_after if after else found.passed_before) / found.tasks


def _costs(verdict: Verdict, side: int) -> tuple[float | None, float | None]:
    """Return what the target took for a task under the incumbent (0) or the candidate (1), as far as it is recorded."""
    return (verdict.worths[side].usd, verdict.worths[side].turns) if verdict.worths else (None, None)


def _with_front(versions: Sequence[VersionView]) -> tuple[VersionView, ...]:
    """Mark the versions that no other is as good as."""
    worths = [Worth(one.score, one.tokens, one.usd, one.turns) for one in versions if one.score is not None]
    scored = [at for at, one in enumerate(versions) if one.score is not None]
    best = {scored[place] for place in front(known_losses(worths))}
    return tuple(replace(version, front=at in best) for at, version in enumerate(versions))


def _named_splits(edits: Iterable[EditView], gates: Iterable[GateView], test: TestView | None) -> dict[str, Split]:
    """Tell the split of those tasks that the events name, where the suite is not at hand."""
    train = {task: Split.TRAIN for edit in edits for task in edit.tasks}
    flips = {task: Split.VAL for gate in gates for task in (*gate.verdict.fixed, *gate.verdict.broken)}
    held_out = dict.fromkeys((*test.verdict.fixed, *test.verdict.broken), Split.TEST) if test else {}
    return train | flips | held_out


def _limits(tasks: Iterable[PairView], confidence: float) -> tuple[float, float] | None:
    """Limit the gain by the gate's own test; the order of the tasks must not follow the results."""
    differences = [
        task.after - task.before
        for task in sorted(tasks, key=lambda one: digest_of(one.task))
        if task.before is not None and task.after is not None
    ]
    if not differences:
        return None
    test = observe(SequentialTest(SequentialPlan(len(differences), confidence, least_chance=0.0)), differences)
    return lower_limit(test), upper_limit(test)


def _value(row: ResultRow, metric: Metric) -> float:
    return metric.of(Score(row.score, passed=row.passed))


def _scored(tally: Tally, metric: Metric) -> float:
    return {Metric.SOFT: tally.score, Metric.HARD: tally.passed, Metric.MIXED: (tally.score + tally.passed) / 2}[metric]


def _share(rows: Mapping[int, ResultRow]) -> float | None:
    return fmean(row.passed for row in rows.values()) if rows else None


class _EditFates:
    """Follows the edits of a run."""

    def __init__(self, train: Collection[str] | None) -> None:
        self._train = train
        self._edits: dict[str, EditView] = {}
        self._tested: set[str] = set()
        self._gates = 0

    @property
    def views(self) -> tuple[EditView, ...]:
        """List all edits in the order in which they were first told of."""
        return tuple(self._edits.values())

    @property
    def funnel(self) -> Funnel:
        """Count how many edits came how far."""
        found = self.views
        return Funnel(
            len(found),
            sum(edit.fate is Fate.REFUSED for edit in found),
            len(self._tested),
            sum(edit.fate not in (Fate.REFUSED, Fate.UNMOVED, Fate.NOT_NEEDED) for edit in found),
            sum(edit.gate is not None for edit in found),
            sum(edit.fate is Fate.ACCEPTED for edit in found),
        )

    def note(self, event: Event, text: str) -> None:
        """Take in the next event of the run."""
        match event:
            case EditRefused():
                self._refused(event, text)
            case PatchTested():
                self._patch_tested(event, text)
            case EditScreened():
                self._ablated(event, text)
            case DraftChanged() | DraftGraded():
                self._drafted(event, text)
            case GateDecided() | VersionAccepted():
                self._judged(event, text)
            case _:
                pass

    def _refused(self, event: EditRefused, text: str) -> None:
        """Note why an edit is not taken up, or, where it was taken up before, why it goes."""
        before = self._edits.get(event.edit.id)
        if before is None:
            fate = Fate.REFUSED
        elif before.version is not None:  # the version has it, whatever the draft does
            return
        else:
            fate = before.fate if before.fate is Fate.UNMOVED else Fate.NOT_NEEDED
        known = self._known(event.edit, event.step, text)
        self._edits[known.id] = replace(known, fate=fate, reason=event.reason)

    def _patch_tested(self, event: PatchTested, text: str) -> None:
        """Note that edits were run; those that did something are told of again, by ablation or in the draft."""
        for edit in event.edits:
            self._tested.add(edit.id)
            known = self._known(edit, event.step, text)
            self._edits[edit.id] = replace(known, fate=Fate.UNMOVED, reason=_UNMOVED)

    def _ablated(self, event: EditScreened, text: str) -> None:
        found = AblationView(event.tasks, event.before, event.after, event.kept, event.reason)
        fate = Fate.JOINED if event.kept else Fate.NOT_NEEDED
        known = self._known(event.edit, event.step, text)
        self._edits[known.id] = replace(known, fate=fate, reason=event.reason, ablation=found)

    def _drafted(self, event: DraftChanged | DraftGraded, text: str) -> None:
        for change in event.changes:
            step = event.step if isinstance(event, DraftChanged) else 0
            known = replace(self._known(change.edit, step, text), diff=change.diff)
            if known.fate in (Fate.UNMOVED, Fate.NOT_NEEDED):  # it works beside others, or the run ended before a test
                known = replace(known, fate=Fate.JOINED, reason="")
            self._edits[known.id] = known

    def _judged(self, event: GateDecided | VersionAccepted, text: str) -> None:
        self._gates += isinstance(event, GateDecided)
        for change in event.changes:
            known = self._known(change.edit, event.step, text)
            if isinstance(event, VersionAccepted):
                known = replace(known, version=event.number)
            else:
                fate, reason = _FATES.get(event.verdict.outcome, Fate.REJECTED), event.verdict.reason
                known = replace(known, fate=fate, reason=reason, gate=self._gates, diff=change.diff)
            self._edits[known.id] = known

    def _known(self, edit: Edit, step: int, text: str) -> EditView:
        if edit.id in self._edits:
            return self._edits[edit.id]
        # A model may cite what it never saw; only tasks that it was shown can have motivated anything.
        cited = tuple(task for task in edit.tasks if self._train is None or task in self._train)
        return _edit_view(replace(edit, tasks=cited), step, SkillDocument(text))


def _edit_view(edit: Edit, step: int, document: SkillDocument) -> EditView:
    after = edit.content.strip("\n")
    before = "" if edit.op.value == "add" else edit.anchor
    place = document.text.find(edit.anchor, document.body_start) if edit.anchor else -1
    around = [section.title for section in document.sections if section.start <= place < section.end]
    return EditView(
        edit.id,
        step,
        edit.op.value,
        edit.section or (around[-1] if around else ""),
        edit.anchor,
        before,
        after,
        edit.rationale,
        edit.tasks,
        estimate_tokens(after),
        estimate_tokens(before),
        Fate.JOINED,
        "",
    )
