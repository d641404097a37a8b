"""Events of a run, one frozen value per thing that happened, and their JSON form.

Events carry no clock and no fact of the machine, so a rerun gives the same ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pydantic import TypeAdapter, ValidationError

from skillopt.errors import LedgerError
from skillopt.gate.comparison import Tally, Verdict
from skillopt.gate.grades import Grading
from skillopt.skills.edits import Change, Edit

__all__ = [
    "BaselineMeasured",
    "CapsRaised",
    "DraftChanged",
    "DraftGraded",
    "EditRefused",
    "EditScreened",
    "EditUnreadable",
    "EditsGrounded",
    "EpochEnded",
    "Event",
    "FailuresNamed",
    "GateDecided",
    "HeldOutTestMeasured",
    "MemoryUpdated",
    "PatchTested",
    "PatchesCompared",
    "PromptSkipped",
    "ReleaseCheckWithheld",
    "RunEnded",
    "RunStarted",
    "SiblingMeasured",
    "StepFailed",
    "StepStarted",
    "TasksSetAside",
    "TrainMeasured",
    "VerifierSuspected",
    "VersionAccepted",
    "decode_event",
    "encode_event",
    "newest_draft",
]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins: which skill text, which suite, how many steps at most."""

    skill: str
    skill_digest: str
    suite: str
    suite_digest: str
    steps: int


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """The first skill was measured on `val`; `noise` is the standard error of a gain, if known."""

    tally: Tally
    noise: float | None
    least_gain: float | None


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step begins, with at most `edits` edits."""

    epoch: int
    step: int
    edits: int


@dataclass(frozen=True, slots=True)
class TrainMeasured:
    """The incumbent was run on the step's train tasks."""

    step: int
    tally: Tally


@dataclass(frozen=True, slots=True)
class FailuresNamed:
    """A reflection named the kinds of failure: of tasks by id, and of the edits that are about them by id."""

    step: int
    tasks: tuple[tuple[str, str], ...]
    edits: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class VerifierSuspected:
    """A train task was flagged because what judges it looks wrong: `by` the `model`, or as `measured`.

    `set_aside` if it is not trained on from here on; else the flag is all.
    """

    step: int
    task: str
    reason: str
    by: str
    set_aside: bool


@dataclass(frozen=True, slots=True)
class EditsGrounded:
    """How far each proposed edit, by id, is supported by the rollouts that it cites, from 0 to 1."""

    step: int
    numbers: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class PatchesCompared:
    """Candidate patches of one step, by what they were to look for, with the advantage of each in its group."""

    step: int
    advantages: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class PromptSkipped:
    """The run goes on without an answer about `tasks`: their prompt failed, as a whole and in halves, and why."""

    step: int
    reason: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EditUnreadable:
    """A part of a reply could not be read as an edit and was left out, the rest was taken; `text` is cut short."""

    step: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class EditRefused:
    """A proposed edit did not join the candidate, and why."""

    step: int
    edit: Edit
    reason: str


@dataclass(frozen=True, slots=True)
class PatchTested:
    """A patch was run on failing tasks: its edits, the tasks run, those that moved on, and those that pass now."""

    step: int
    edits: tuple[Edit, ...]
    tasks: tuple[str, ...]
    moved: tuple[str, ...]
    passed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditScreened:
    """An edit was left out on `tasks` train tasks, mean score `before` without it and `after` with it; `kept` or not.

    A score is None where nothing was run.
    """

    step: int
    edit: Edit
    tasks: int
    before: float | None
    after: float | None
    kept: bool
    reason: str


@dataclass(frozen=True, slots=True)
class StepFailed:
    """A step ended without a candidate: which stage, and why."""

    step: int
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class SiblingMeasured:
    """A sibling's tasks were run beside the first text and a candidate; no `verdict`: nothing was run, for a reason.

    `lowest` is what its true gain on new tasks exceeds.
    """

    step: int
    sibling: str
    verdict: Verdict | None
    reason: str
    fell: bool = False
    lowest: float = 0.0


@dataclass(frozen=True, slots=True)
class GateDecided:
    """A candidate was compared with the incumbent, after `rollouts` asked so far.

    `kind` is `edits`, `slow update`, or `change` for one by people. `text` is the candidate's SKILL.md, `passed`
    whether a change is what was asked for; None for candidates. With two folds, `judged` has the digests of what was
    run on the tasks of each in the candidate's place.
    """

    step: int
    kind: str
    changes: tuple[Change, ...]
    verdict: Verdict
    text: str = ""
    rollouts: int | None = None
    passed: bool | None = None
    judged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionAccepted:
    """A candidate became the incumbent: its whole SKILL.md, rollouts so far, what was found of protected siblings."""

    number: int
    epoch: int
    step: int
    kind: str
    text: str
    changes: tuple[Change, ...]
    verdict: Verdict
    rollouts: int
    grading: Grading | None = None
    siblings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftChanged:
    """The draft is another text: `text` is its whole SKILL.md, `changes` its edits; none, and it is the incumbent.

    Whatever ends the run, the newest of these is what is published.
    """

    step: int
    text: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class DraftGraded:
    """What waits at the end of a run, by whatever it ended, was graded against the incumbent.

    `text` is the draft's whole SKILL.md, `incumbent` the digest of what it was compared with.
    """

    text: str
    changes: tuple[Change, ...]
    grading: Grading
    incumbent: str
    rollouts: int


@dataclass(frozen=True, slots=True)
class TasksSetAside:
    """Train tasks that failed under every patch, by id; at the end they are named, not waited for."""

    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryUpdated:
    """The optimizer model rewrote its strategy memory, which never ships."""

    epoch: int
    memory: str


@dataclass(frozen=True, slots=True)
class EpochEnded:
    """An epoch is over, with so many accepted versions."""

    epoch: int
    accepted: int


@dataclass(frozen=True, slots=True)
class HeldOutTestMeasured:
    """The released skill and the last one were compared on the held-out `test` split.

    `released` is the digest of the released version, `look` counts the looks at this split for that version.
    """

    before: Tally
    after: Tally
    verdict: Verdict
    released: str = ""
    look: int = 1


@dataclass(frozen=True, slots=True)
class ReleaseCheckWithheld:
    """The held-out `test` split was not scored, and why; `look` is which look it would have been."""

    reason: str
    look: int = 2


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over: why, versions accepted, what was asked of target and optimizer model; `capped` by a cap."""

    reason: str
    accepted: int
    rollouts: int
    calls: int
    capped: bool = False


@dataclass(frozen=True, slots=True)
class CapsRaised:
    """A run that had ended goes on under higher caps; None for no cap."""

    max_rollouts: int | None
    max_calls: int | None
    max_usd: float | None
    max_tokens: int | None


Event = (
    RunStarted
    | BaselineMeasured
    | StepStarted
    | TrainMeasured
    | FailuresNamed
    | VerifierSuspected
    | EditsGrounded
    | PatchesCompared
    | PromptSkipped
    | EditUnreadable
    | EditRefused
    | PatchTested
    | EditScreened
    | StepFailed
    | SiblingMeasured
    | GateDecided
    | VersionAccepted
    | DraftChanged
    | DraftGraded
    | TasksSetAside
    | MemoryUpdated
    | EpochEnded
    | HeldOutTestMeasured
    | ReleaseCheckWithheld
    | RunEnded
    | CapsRaised
)


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


@cache
def _adapters() -> dict[str, TypeAdapter[Event]]:
    return {kind.__name__: TypeAdapter(kind) for kind in Event.__args__}


def encode_event(event: Event) -> tuple[str, str]:
    """Return an event's kind and its JSON text."""
    kind = type(event).__name__
    return kind, _adapters()[kind].dump_json(event).decode()


def decode_event(kind: str, payload: str) -> Event:
    """Read an event back from its kind and JSON text."""
    try:
        return _adapters()[kind].validate_json(payload)
    except (KeyError, ValidationError) as error:
        message = (
            f"expected an event of a run, found {kind!r} with {payload[:60]!r}: the ledger is damaged; it was left as "
            "it is, move .skillopt/ledger.db away to start with an empty one"
        )
        raise LedgerError(message) from error
