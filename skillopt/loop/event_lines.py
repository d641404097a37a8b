"""Events of a run in words: each as one line, and few lines for people: one for each step, gate and version."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Final

from skillopt.gate.comparison import Outcome, Verdict
from skillopt.gate.grade_words import grade_name, grade_words
from skillopt.gate.headline import VAL, compared_words, passed_words, tally_words
from skillopt.loop.events import (
    BaselineMeasured,
    CapsRaised,
    DraftChanged,
    DraftGraded,
    EditRefused,
    EditScreened,
    EditsGrounded,
    EditUnreadable,
    EpochEnded,
    Event,
    FailuresNamed,
    GateDecided,
    HeldOutTestMeasured,
    PatchesCompared,
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
from skillopt.loop.gained import gained_on_test
from skillopt.loop.siblings import sibling_words
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.safety.plurals import count_noun
from skillopt.skills.edits import Edit, Op

__all__ = ["StepLines", "describe", "outcome_words"]

_MOST_NAMES = 6
_LONGEST_REASON = 200


@singledispatch
def describe(event: Event) -> str:  # noqa: ARG001 - most events are too small to tell
    """Say an event in one line; empty for those too small to tell."""
    return ""


@describe.register
def _(event: RunStarted) -> str:
    most = f": at most {count_noun(event.steps, 'step')}" if event.steps else ""
    return f"{event.skill} on suite {event.suite}{most}"


@describe.register
def _(event: CapsRaised) -> str:
    caps = {"rollouts": event.max_rollouts, "calls": event.max_calls, "tokens": event.max_tokens}
    words = [f"{cap:,} {name}" for name, cap in caps.items() if cap]
    words += [f"${event.max_usd:g}"] if event.max_usd else []
    return f"goes on under higher caps: {', '.join(words) or 'none'}"


@describe.register
def _(event: BaselineMeasured) -> str:
    noise = f"; measured twice it differs by {event.noise:.3f} (standard error)" if event.noise is not None else ""
    least = "no gain" if event.least_gain is None else f"{event.least_gain:.0%} more tasks passed"
    return f"baseline: {tally_words(event.tally, VAL)}{noise}; the least gain that a gate can prove: {least}"


@describe.register
def _(event: TrainMeasured) -> str:
    passed = passed_words(event.tally.passed * event.tally.measured, event.tally.measured)
    return f"step {event.step}: {passed} train tasks pass"


@describe.register
def _(event: FailuresNamed) -> str:
    counts = Counter(kind for _, kind in event.tasks).most_common()
    return (
        f"reflection {event.step}: failures: {', '.join(f'{count} {kind}' for kind, count in counts)}" if counts else ""
    )


@describe.register
def _(event: VerifierSuspected) -> str:
    then = "set aside for this run" if event.set_aside else "still trained on"
    return f"step {event.step}: check the verifier of task {event.task}, {then}: {event.reason} ({event.by})"


@describe.register
def _(event: EditsGrounded) -> str:
    return f"reflection {event.step}: {count_noun(len(event.numbers), 'edit')} proposed"


@describe.register
def _(event: PatchesCompared) -> str:
    names = ", ".join(name for name, _ in sorted(event.advantages, key=lambda pair: -pair[1]))
    patches = count_noun(len(event.advantages), "patch", "patches")
    return f"reflection {event.step}: {patches} compared, best first: {names}"


@describe.register
def _(event: PromptSkipped) -> str:
    tasks = f"{count_noun(len(event.tasks), 'task')} ({_names(event.tasks)})"
    return f"reflection {event.step}: no proposal for {tasks}: {_cut(event.reason)}"


@describe.register
def _(event: EditUnreadable) -> str:
    return f"reflection {event.step}: left out a part of a reply: {_cut(event.reason)}: {_cut(event.text)}"


@describe.register
def _(event: EditRefused) -> str:
    return f"step {event.step}: left out {event.edit.id}, {_cut(event.edit.summary)}: {_cut(event.reason)}"


@describe.register
def _(event: PatchTested) -> str:
    moved = f"{len(event.passed)} pass, {len(event.moved)} pass or fail otherwise"
    moved += f" ({_names(event.moved)})" if event.moved else ""
    tried = f"{count_noun(len(event.edits), 'edit')} together on {count_noun(len(event.tasks), 'failing task')}"
    return f"step {event.step}: tried {tried}: {moved}"


@describe.register
def _(event: EditScreened) -> str:
    scores = ""
    if event.before is not None:
        with_it = "" if event.after is None else f", {event.after:.2f} with it"
        scores = f" (score {event.before:.2f} without it{with_it})"
    edit = f"{event.edit.id}, {_cut(event.edit.summary)}"
    return f"step {event.step}: {'kept' if event.kept else 'dropped'} {edit}: {event.reason}{scores}"


@describe.register
def _(event: DraftChanged) -> str:
    if not event.changes:
        return f"step {event.step}: no edit waits any more"
    return f"step {event.step}: {count_noun(len(event.changes), 'edit')} in the draft"


@describe.register
def _(event: TasksSetAside) -> str:
    return f"set aside, because they failed under every patch: {_names(event.tasks)}" if event.tasks else ""


@describe.register
def _(event: GateDecided) -> str:
    what = count_noun(len(event.changes), "edit") if event.changes else event.kind
    verdict = event.verdict
    place = f"step {event.step}: " if event.step else ""
    counts = f"{verdict.wins} better / {verdict.ties} equal / {verdict.losses} worse"
    words = compared_words(verdict, "" if event.judged else VAL)
    return f"{place}{what}: {outcome_words(event)}: {words}, {counts}: {_cut(verdict.reason)}"


@describe.register
def _(event: VersionAccepted) -> str:
    grade = "" if event.grading is None else f", {grade_words(event.grading)}"
    return f"step {event.step}: version {event.number} committed{grade}"


@describe.register
def _(event: DraftGraded) -> str:
    return f"the draft, {count_noun(len(event.changes), 'edit')}, is {grade_words(event.grading)}"


@describe.register
def _(event: SiblingMeasured) -> str:
    return f"step {event.step}: {sibling_words(event)}"


@describe.register
def _(event: StepFailed) -> str:
    return f"step {event.step}: {event.stage}: {event.reason}"


@describe.register
def _(event: EpochEnded) -> str:
    return f"epoch {event.epoch} over: {event.accepted} accepted"


@describe.register
def _(event: HeldOutTestMeasured) -> str:
    return f"held-out test, look {event.look}: {gained_on_test(event).words}, {event.verdict.outcome.value}"


@describe.register
def _(event: ReleaseCheckWithheld) -> str:
    return f"held-out test withheld: {event.reason}"


def outcome_words(event: GateDecided) -> str:
    """Outcome of a gate in a word or two; a change by people passes, is refused, or the gate cannot tell."""
    if event.kind != "change":
        return event.verdict.outcome.value
    return {True: "passed", False: "refused", None: "cannot tell"}[event.passed]


def _names(tasks: Sequence[str]) -> str:
    """List the first tasks by id."""
    return ", ".join(tasks[:_MOST_NAMES]) + (", …" if len(tasks) > _MOST_NAMES else "")


def _cut(reason: str) -> str:
    """Return a reason on one line: one that quotes edits can be as long as they are."""
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]} …"


_TOLD_AT_ONCE: Final = (
    RunStarted,
    VerifierSuspected,
    PromptSkipped,
    EditUnreadable,
    EpochEnded,
    TasksSetAside,
    ReleaseCheckWithheld,
)
_LONGEST: Final = 44
_LONGEST_STEP_REASON: Final = 160
_MOST_REASONS: Final = 3
_MOST_EDITS: Final = 1
_NOT_REFUSED: Final = ("it rivals ", "looked at again")
"""How reasons begin that do not speak against an edit: another one was taken for it, or it was taken out later."""

_ENDING: Final = (
    RunStarted,
    BaselineMeasured,
    GateDecided,
    VersionAccepted,
    DraftGraded,
    EpochEnded,
    TasksSetAside,
    HeldOutTestMeasured,
    ReleaseCheckWithheld,
    RunEnded,
)
"""What no longer belongs to a step."""


class StepLines:
    """Puts events together; hand it each event in order, and print the lines that it gives.

    A step is told when a later one begins after its end, or something comes that belongs to no step: the steps of two
    folds go side by side.
    """

    def __init__(self) -> None:
        self._steps: dict[int, _Step] = {}
        self._waiting: tuple[str, ...] = ()
        self._gate: GateDecided | None = None

    def lines(self, event: Event) -> Iterator[str]:
        """Return the lines that are due with an event."""
        step = getattr(event, "step", 0)
        if isinstance(event, StepStarted | TrainMeasured) and step not in self._steps:
            yield from self._end(*(one for one in self._steps.values() if one.over or one.number < step - 1))
            self._steps[step] = _Step(step)
        mine = self._steps.setdefault(step, _Step(step))
        if isinstance(event, DraftChanged):
            mine.waiting = _ids(event)
            mine.added = [change.edit for change in event.changes if change.edit.id not in self._waiting]
            self._waiting = mine.waiting
            return
        if isinstance(event, _ENDING):
            yield from self._end(*self._steps.values())
            yield from self._gated(event)
        if not mine.note(event) and (line := _tell(event)):
            yield line

    def _end(self, *steps: "_Step") -> Iterator[str]:
        for step in steps:
            if line := step.line():
                yield line
                yield from step.refusals()
            del self._steps[step.number]

    def _gated(self, event: Event) -> Iterator[str]:
        """Tell of a gate, of one that accepts when its version is there."""
        if isinstance(event, GateDecided):
            self._gate = event
            if event.kind == "change":
                yield f"{_compared(event)}: {outcome_words(event)}"
            elif event.verdict.outcome is not Outcome.ACCEPT:
                yield f"{_compared(event)}: not accepted{_why(event.verdict)}"
        elif isinstance(event, VersionAccepted):
            self._waiting = ()
            grade = f", {grade_name(event.grading)}" if event.grading else ""
            gate = _compared(self._gate) if self._gate else "gate"
            yield f"{gate}: accepted as version {event.number}{grade}"


@singledispatch
def _tell(event: Event) -> str:
    """Say in a line what stands for itself; empty for what does not."""
    return describe(event) if isinstance(event, _TOLD_AT_ONCE) else ""


@_tell.register
def _(event: BaselineMeasured) -> str:
    return f"before training: {tally_words(event.tally, VAL)}"


@_tell.register
def _(event: DraftGraded) -> str:
    return f"the draft, {count_noun(len(event.changes), 'edit')}, is {grade_words(event.grading)}"


@_tell.register
def _(event: HeldOutTestMeasured) -> str:
    return f"held-out test: {gained_on_test(event).words}"


@_tell.register
def _(event: StepFailed) -> str:
    return f"step {event.step}: {event.stage}: {_line(event.reason)}"


class _Step:
    """What happened in one step."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.waiting: tuple[str, ...] | None = None
        self.added: list[Edit] = []
        self._before = ""
        self._failure = ""
        self._tried: dict[str, Edit] = {}
        self._tasks: set[str] = set()
        self._fixed: set[str] = set()
        self._moved: set[str] = set()
        self._dropped = 0
        self._refused: list[tuple[Edit, str]] = []

    def note(self, event: Event) -> bool:
        """Take in an event; say whether it belongs to a step's line."""
        match event:
            case TrainMeasured():
                tally = event.tally
                self._before = f"{passed_words(tally.passed * tally.measured, tally.measured)} train tasks pass"
            case PatchTested():
                self._tried |= {edit.id: edit for edit in event.edits}
                self._tasks |= set(event.tasks)
                self._fixed |= set(event.passed)
                self._moved |= set(event.moved)
            case EditScreened():
                self._dropped += not event.kept
            case EditRefused():
                self._refused.append((event.edit, event.reason))
            case StepFailed() if event.stage == "reflection":
                self._failure = event.reason
            case _:
                return False
        return True

    @property
    def over(self) -> bool:
        """Whether the draft has what came of it, or nothing came of it."""
        return self.waiting is not None or bool(self._failure)

    def line(self) -> str:
        """Say all of it; empty for a step in which nothing happened."""
        parts = [part for part in (self._before, self._tested(), *self._kept()) if part]
        return f"step {self.number}: {'; '.join(parts)}" if parts else ""

    def _tested(self) -> str:
        if not self._tried:
            return ""
        edits = list(self._tried.values())
        what = _named(edits[0]) if len(edits) == 1 else f"{len(edits)} edits tried"
        fixes = "fixes" if len(edits) == 1 else "fix"
        more = len(self._moved - self._fixed)
        fail = "fails" if more == 1 else "fail"
        return (
            f"{what} {fixes} {len(self._fixed)} of {count_noun(len(self._tasks), 'failing task')}"
            f"{f', {more} more now {fail} in another way' if more else ''}"
        )

    def _kept(self) -> Iterator[str]:
        if self.added:
            shown = ", ".join(_named(edit) for edit in self.added[:_MOST_EDITS])
            more = f", {len(self.added) - _MOST_EDITS} more" if len(self.added) > _MOST_EDITS else ""
            alone = len(self._tried) == 1 and [edit.id for edit in self.added] == list(self._tried)
            yield "kept" if alone else f"kept {shown}{more}"
        elif self._failure:
            yield f"nothing kept: {self._failure}"
        elif self._tried:
            yield "nothing kept"
        if self._dropped:
            yield f"{self._dropped} not needed"
        if self.waiting is not None:
            yield f"{count_noun(len(self.waiting), 'edit')} in the draft"

    def refusals(self) -> Iterator[str]:
        """Return why edits were refused, the most frequent reasons first."""
        reasons = Counter(reason for _, reason in self._refused if not reason.startswith(_NOT_REFUSED))
        for reason, count in reasons.most_common(_MOST_REASONS):
            edit = next(edit for edit, found in self._refused if found == reason)
            more = f" and {count - 1} more" if count > 1 else ""
            yield f"  refused {_named(edit)}{more}: {_line(reason)}"
        if len(reasons) > _MOST_REASONS:
            yield f"  refused for {len(reasons) - _MOST_REASONS} other reasons; -v lists them"


def _compared(gate: GateDecided) -> str:
    """Return what a gate found."""
    verdict, what = gate.verdict, count_noun(len(gate.changes), "edit") if gate.changes else gate.kind
    words = compared_words(verdict, "" if gate.judged else VAL)
    return f"gate, {what}: {words}, fixed {len(verdict.fixed)}, broke {len(verdict.broken)}"


def _why(verdict: Verdict) -> str:
    if verdict.grading is not None:
        return ""
    words = {
        Outcome.REJECT: ", no better",
        Outcome.INCONCLUSIVE: ", these tasks do not show it yet",
        Outcome.INVALID: f", {_line(verdict.reason)}",
    }
    return words.get(verdict.outcome, "")


def _named(edit: Edit) -> str:
    """Name an edit by its text."""
    text = edit.anchor if edit.op is Op.DELETE else edit.content
    first = next((line.strip(" -*#") for line in text.splitlines() if line.strip(" -*#")), "")
    verb = {Op.ADD: "add", Op.DELETE: "delete", Op.REPLACE: "change to", Op.REWRITE: "rewrite as"}[edit.op]
    return f'{verb} "{escape_terminal(truncate(first, _LONGEST))}"'


def _line(reason: str) -> str:
    return escape_terminal(truncate(" ".join(reason.split()), _LONGEST_STEP_REASON))


def _ids(event: DraftChanged) -> tuple[str, ...]:
    return tuple(change.edit.id for change in event.changes)
