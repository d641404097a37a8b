"""Events of a run, one frozen value per thing that happened, and its JSON form; `reports.lines` says them in words.

Events carry no clock and no fact of the machine, so a rerun gives the same ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from skillopt.errors import LedgerError
from skillopt.figures import HELD_OUT, VAL, Headline, headline_of_verdict, headline_of_versions
from skillopt.gate.comparison import Tally
from skillopt.gate.decide import Verdict
from skillopt.gate.grades import Grading
from skillopt.prompts.reviewing import FlaggedLine
from skillopt.skills.edits import Change, Edit


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run."""


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """A run begins: which skill text, which suite, how many steps at most."""

    skill: str
    skill_digest: str
    suite: str
    suite_digest: str
    steps: int


@dataclass(frozen=True, slots=True)
class BaselineMeasured(Event):
    """The first skill was measured on `val`; `least_gain` is the smallest that a gate could certify."""

    tally: Tally
    least_gain: float | None


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """A step begins, with at most `edits` edits."""

    epoch: int
    step: int
    edits: int


@dataclass(frozen=True, slots=True)
class TrainMeasured(Event):
    """The incumbent was run on the step's train tasks."""

    step: int
    tally: Tally


@dataclass(frozen=True, slots=True)
class VerifierSuspected(Event):
    """A train task was flagged because what judges it looks wrong: `by` the `model`, or as `measured`."""

    step: int
    task: str
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class PromptSkipped(Event):
    """The run goes on without an answer about `tasks`: their prompt failed, as a whole and in halves, and why."""

    step: int
    reason: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EditUnreadable(Event):
    """A part of a reply could not be read as an edit and was left out, the rest was taken; `text` is cut short."""

    step: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class EditRefused(Event):
    """A proposed edit did not join the candidate, and why."""

    step: int
    edit: Edit
    reason: str


@dataclass(frozen=True, slots=True)
class PatchTested(Event):
    """A patch was run on failing tasks: its edits, the tasks run, those that moved on, and those that pass now."""

    step: int
    edits: tuple[Edit, ...]
    tasks: tuple[str, ...]
    moved: tuple[str, ...]
    passed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditScreened(Event):
    """An edit was left out on `tasks` train tasks; `failed` of the `runs` made a mistake that is gone with it."""

    step: int
    edit: Edit
    tasks: int
    runs: int
    failed: int
    kept: bool
    reason: str


@dataclass(frozen=True, slots=True)
class TextScreened(Event):
    """A unit of a text that is shortened stays or goes: its line, its estimated tokens, and the tasks that need it."""

    line: int
    text: str
    tokens: int
    kept: bool
    reason: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepFailed(Event):
    """A step ended without a candidate: which stage, and why."""

    step: int
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class LinesReviewed(Event):
    """The reviewer read what a text adds: the lines flagged in this run so far, one without text where it read none."""

    step: int
    flagged: tuple[FlaggedLine, ...]


@dataclass(frozen=True, slots=True)
class GateDecided(Event):
    """A candidate was compared with the incumbent, after `rollouts` asked so far.

    `kind` is `edits`, `slow update`, `shrink`, or `change` for one by people. `text` is the candidate's SKILL.md,
    `passed` whether a change is what was asked for; None for candidates. `folded` says that all tasks taught, or that a
    text was shortened, so that the tasks compared are all tasks.
    """

    step: int
    kind: str
    changes: tuple[Change, ...]
    verdict: Verdict
    text: str = ""
    rollouts: int | None = None
    passed: bool | None = None
    folded: bool = False


@dataclass(frozen=True, slots=True)
class VersionAccepted(Event):
    """A candidate became the incumbent: its whole SKILL.md, and the rollouts so far."""

    number: int
    epoch: int
    step: int
    kind: str
    text: str = field(repr=False)
    changes: tuple[Change, ...] = field(repr=False)
    verdict: Verdict
    rollouts: int
    grading: Grading | None = None


@dataclass(frozen=True, slots=True)
class DraftChanged(Event):
    """The draft is another text: `text` is its whole SKILL.md, `changes` its edits; none, and it is the incumbent.

    Whatever ends the run, the newest of these is what is published.
    """

    step: int
    text: str = field(repr=False)
    changes: tuple[Change, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class DraftGraded(Event):
    """What waits at the end of a run, by whatever it ended, was graded against the incumbent.

    `text` is the draft's whole SKILL.md, `incumbent` the digest of what it was compared with.
    """

    text: str = field(repr=False)
    changes: tuple[Change, ...] = field(repr=False)
    grading: Grading
    incumbent: str
    rollouts: int


@dataclass(frozen=True, slots=True)
class TasksSetAside(Event):
    """Why train tasks, of how many, still fail when learning ends: each reason with the ids of its tasks."""

    reasons: tuple[tuple[str, tuple[str, ...]], ...]
    tasks: int


@dataclass(frozen=True, slots=True)
class HeldOutTestMeasured(Event):
    """The released skill and the last one were compared on the held-out `test` split.

    `released` is the digest of the released version, `look` counts the looks at this split for that version.
    """

    before: Tally
    after: Tally
    verdict: Verdict
    released: str = ""
    look: int = 1


@dataclass(frozen=True, slots=True)
class ReleaseCheckWithheld(Event):
    """The held-out `test` split was not scored, and why; `look` is which look it would have been."""

    reason: str
    look: int = 2


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The run is over: why, versions accepted, what was asked of target and optimizer model; `capped` by a cap.

    Of `unread`, digests of prompts, the replies could not be read: they are no results for another run.
    """

    reason: str
    accepted: int
    rollouts: int
    calls: int
    capped: bool = False
    unread: Annotated[tuple[str, ...], Field(exclude_if=lambda found: not found)] = ()


def newest_draft(events: Iterable[Event]) -> DraftChanged | DraftGraded | None:
    """Return what waits after some events of a run: graded, or as it was when the run was stopped; None for nothing."""
    found: DraftChanged | DraftGraded | None = None
    for event in events:
        if isinstance(event, DraftGraded):
            found = event
        elif isinstance(event, DraftChanged):
            found = event if event.changes else None
        elif isinstance(event, VersionAccepted | RunStarted):
            found = None
    return found


@cache  # one by one: to make them all takes a tenth of a second
def _adapter(kind: str) -> TypeAdapter[Event]:
    return TypeAdapter({one.__name__: one for one in Event.__subclasses__()}[kind])


def encode_event(event: Event) -> tuple[str, str]:
    """Return an event's kind and its JSON text."""
    kind = type(event).__name__
    return kind, _adapter(kind).dump_json(event).decode()


def decode_event(kind: str, payload: str) -> Event:
    """Read an event back from its kind and JSON text."""
    try:
        return _adapter(kind).validate_json(payload)
    except (KeyError, ValidationError) as error:
        message = (
            f"expected an event of a run, found {kind!r} with {payload[:60]!r}: the ledger is damaged; it was left as "
            "it is, move .skillopt/ledger.db away to start with an empty one"
        )
        raise LedgerError(message) from error


def gained_by_run(events: Iterable[Event]) -> Headline | None:
    """Compare the text that a run began with and its newest version; None where none was accepted.

    Both sides have the same tasks: the held-out ones where they were scored, else those of the gate. A change by
    people, which has no versions, is compared with the text before it.
    """
    happened = list(events)
    begun = max((at for at, event in enumerate(happened) if isinstance(event, RunStarted)), default=0)
    tests = [event for event in happened[begun:] if isinstance(event, HeldOutTestMeasured)]
    gates = [event for event in happened[begun:] if isinstance(event, GateDecided)]
    verdicts = [event.verdict for event in happened[begun:] if isinstance(event, VersionAccepted)]
    if tests:
        return headline_of_verdict(tests[-1].verdict, HELD_OUT)
    if verdicts:
        return headline_of_versions(verdicts, "" if gates and gates[-1].folded else VAL)
    return gained_by_gate(gates[-1]) if gates and gates[-1].kind == "change" else None


def gained_by_gate(event: GateDecided) -> Headline | None:
    """Compare candidate and incumbent of a gate, as far as they were measured."""
    return headline_of_verdict(event.verdict, "" if event.folded else VAL)


def gained_by_draft(events: Iterable[Event]) -> Headline | None:
    """Compare what waits at the end with the incumbent; None where nothing waits, or it was not measured."""
    events = list(events)
    draft = newest_draft(events)
    if not isinstance(draft, DraftGraded):
        return None
    gates = [event for event in events if isinstance(event, GateDecided) and event.text == draft.text]
    return gained_by_gate(gates[-1]) if gates else None
