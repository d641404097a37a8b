"""What happens in a run, told line by line: console, jobs and the table of steps say the same with the same numbers."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from skillopt.figures import HELD_OUT, VAL, comparison_words, name_grade, tally_passed, tally_words
from skillopt.gate.comparison import Tally
from skillopt.loop.events import (
    BaselineMeasured,
    DraftChanged,
    DraftGraded,
    EditRefused,
    EditScreened,
    EditUnreadable,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    LinesReviewed,
    PatchTested,
    PromptSkipped,
    RunEnded,
    RunStarted,
    StepFailed,
    TasksSetAside,
    TrainMeasured,
    VerifierSuspected,
    VersionAccepted,
    gained_by_gate,
    newest_draft,
)
from skillopt.safety.escaping import count_noun, escape_terminal, truncate

_MOST_NAMES: Final = 6  # a line of a terminal holds so many ids
_LONGEST_REASON: Final = 200  # one that quotes edits can be as long as they are


@dataclass(frozen=True, slots=True)
class StepView:
    """A step: how the train tasks before it went, what was proposed and kept in it, and how it ended.

    Steps are numbered in the order in which they end, which is that in which they are told.
    """

    number: int
    train: Tally | None = None
    edits: int = 0
    failing: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    kept: int = 0
    dropped: int = 0
    end: str = ""

    @property
    def head(self) -> str:
        """What was measured, proposed and kept in it, in a line without how it ended."""
        parts = [f"{tally_passed(self.train)} train tasks pass"] if self.train else []
        if self.edits:
            fixed = f"{len(self.passed)} of {count_noun(len(self.failing), 'task')}"
            parts.append(f"Proposed {count_noun(self.edits, 'edit')}; patch tests fixed {fixed}")
        if self.kept or self.dropped:
            parts.append(f"Ablation kept {self.kept} and dropped {self.dropped}")
        return f"step {self.number}: {'. '.join(parts)}"


class RunLines:
    """Tells a run in lines: a step in one, put together of what belongs to it, all else as it happens."""

    def __init__(self) -> None:
        self._open: dict[int, StepView] = {}
        self._numbers: dict[int, int] = {}

    def note(self, event: Event) -> list[StepView]:
        """Take in what happened, and return the steps that are over with it."""
        known = self._open.get(getattr(event, "step", -1), StepView(0))
        match event:
            case TrainMeasured():
                ended = self._close(lambda _: True)
                self._open[event.step] = replace(known, train=event.tally)
                return ended
            case PatchTested():
                failing = tuple(dict.fromkeys((*known.failing, *event.tasks)))
                passed = tuple(dict.fromkeys((*known.passed, *event.passed)))
                edits = known.edits + len(event.edits)
                self._open[event.step] = replace(known, edits=edits, failing=failing, passed=passed)
            case EditScreened():
                kept, dropped = known.kept + event.kept, known.dropped + (not event.kept)
                self._open[event.step] = replace(known, kept=kept, dropped=dropped)
            case DraftChanged() | StepFailed() if event.step in self._open:
                said = event_line(event)
                self._open[event.step] = replace(known, end=said[:1].upper() + said[1:])
                return self._close(lambda one: one is self._open.get(event.step))
            case RunEnded() | GateDecided():
                return self._close(lambda _: True)
            case _ if event_line(event):
                return self._close(lambda one: not one.edits)
        return []

    def _close(self, over: Callable[[StepView], bool]) -> list[StepView]:
        closed = [step for step, one in self._open.items() if over(one)]
        for step in closed:
            self._numbers.setdefault(step, len(self._numbers) + 1)
        return [replace(self._open.pop(step), number=self._numbers[step]) for step in closed]

    def tell(self, event: Event) -> list[tuple[str, bool]]:
        """Return what is to be said now, and of each line whether work went before it, so that its cost is worth it."""
        ended, line = self.note(event), event_line(event)
        lines = []
        for step in ended:
            mark = ". " if step.end and not step.head.endswith(": ") else ""
            lines.append((f"{step.head}{mark}{step.end}", bool(step.edits or step.end)))
        # Said at the end of its step, where it did anything.
        failed = isinstance(event, StepFailed) and (bool(ended) or event.stage == "reflection")
        if line and not (failed or isinstance(event, DraftChanged)):
            lines.append((line, isinstance(event, GateDecided)))
        return lines


def lines_of(events: Iterable[Event]) -> list[str]:
    """Tell a run in lines."""
    told = RunLines()
    return [line for event in events for line, _ in told.tell(event)]


def event_line(event: Event) -> str:
    """Return what happened in a line; empty for what is too small to tell."""
    words = _WORDS.get(type(event))
    return words(event) if words else ""


def _flagged(event: LinesReviewed) -> str:
    told = "; ".join(f"{one.text!r}: {one.reason}" if one.text else one.reason for one in event.flagged)
    return f"the reviewer flags {_cut(told)}" if told else ""


def _gated(event: GateDecided) -> str:
    what = count_noun(len(event.changes), "edit") if event.changes else event.kind
    verdict, outcome = event.verdict, event.verdict.outcome.value
    if event.kind == "change":  # by people
        outcome = {True: "passed", False: "refused", None: "cannot tell"}[event.passed]
    flips = f"fixed {len(verdict.fixed)}, broke {len(verdict.broken)}"
    reason = "" if outcome == "accept" else f", {_cut(verdict.reason)}"
    return f"gate ({what}): {comparison_words(verdict, '' if event.folded else VAL)}; {flips}: {outcome}{reason}"


def _failing(event: TasksSetAside) -> str:
    failing = sum(len(names) for _, names in event.reasons)
    told = "; ".join(f"{_names(names)} ({reason})" for reason, names in event.reasons)
    return f"{failing} of {count_noun(event.tasks, 'task')} still {'fails' if failing == 1 else 'fail'}: {told}"


_WORDS: Final[Mapping[type[Event], Callable[[Any], str]]] = {
    RunStarted: lambda it: f"{it.skill} on suite {it.suite}",
    BaselineMeasured: lambda it: f"baseline: {tally_words(it.tally, VAL)}",
    VerifierSuspected: lambda it: f"check the verifier of task {it.task}: {it.reason} ({it.by})",
    PromptSkipped: lambda it: (
        f"no proposal for {count_noun(len(it.tasks), 'task')} ({_names(it.tasks)}): {_cut(it.reason)}"
    ),
    EditUnreadable: lambda it: f"left out part of a reply: {_cut(it.reason)}: {_cut(it.text)}",
    StepFailed: lambda it: f"{it.stage}: {_cut(it.reason)}",
    LinesReviewed: _flagged,
    GateDecided: _gated,
    VersionAccepted: lambda it: f"accepted as version {it.number}{f', {name_grade(it.grading)}' if it.grading else ''}",
    DraftChanged: lambda it: f"draft: {count_noun(len(it.changes), 'edit') if it.changes else 'empty'}",
    DraftGraded: lambda it: f"draft ({count_noun(len(it.changes), 'edit')}): {name_grade(it.grading)}",
    TasksSetAside: _failing,
    HeldOutTestMeasured: lambda it: (
        f"held-out test, look {it.look}: {comparison_words(it.verdict, HELD_OUT)}: {it.verdict.outcome.value}"
    ),
}


def _names(tasks: Sequence[str]) -> str:
    """List the first tasks by id."""
    return ", ".join(tasks[:_MOST_NAMES]) + (", …" if len(tasks) > _MOST_NAMES else "")


def _cut(reason: str) -> str:
    """Return a reason on one line."""
    return escape_terminal(truncate(" ".join(reason.split()), _LONGEST_REASON))


def why_nothing(events: Iterable[Event]) -> str:
    """Return why a run accepted nothing, by how far its edits came; empty where something was accepted."""
    happened = list(events)
    if any(isinstance(event, VersionAccepted) for event in happened):
        return ""
    gates = [event for event in happened if isinstance(event, GateDecided)]
    draft = newest_draft(happened)
    if draft is not None and all(gate.text != draft.text for gate in gates):
        capped = any(isinstance(event, RunEnded) and event.capped for event in happened[-1:])
        edits = count_noun(len(draft.changes), "edit")
        return f"the draft of {edits} was not gated{': the cap left no rollouts for it' if capped else ''}"
    if gates:
        held = {event.stage: event.reason for event in happened if isinstance(event, StepFailed)}
        stage = "gate" if gates[-1].verdict.accepted else ""
        if reason := held.get("further harness") or held.get(stage):
            return reason
        found, verdict = gained_by_gate(gates[-1]), gates[-1].verdict
        return f"the gate did not accept the draft: {found.words if found else verdict.reason}"
    trained = [event.tally for event in happened if isinstance(event, TrainMeasured)]
    if trained and all(tally.passed == 1.0 for tally in trained):
        return "every train task passes already; add tasks that fail"
    left = [event_line(event) for event in happened if isinstance(event, TasksSetAside)]
    refused = Counter(event.reason for event in happened if isinstance(event, EditRefused)).most_common(1)
    said = left or [f"all edits were refused, most often because {one}" for one, _ in refused]
    return said[-1] if said else "no edit helped"
