"""The view of a run: everything that reports show, as one value.

Numbers and texts are as they were recorded, nothing rounded and nothing escaped. Texts of edits, tasks and reasons are
untrusted wherever they are shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from skillopt.gate.comparison import Outcome, Tally, Verdict
from skillopt.gate.grades import Grading
from skillopt.gate.headline import (
    HELD_OUT,
    VAL,
    Headline,
    headline_of_tallies,
    headline_of_verdict,
    headline_of_versions,
)
from skillopt.loop.events import PromptSkipped, VerifierSuspected
from skillopt.review.acts import Suspicion
from skillopt.rollouts import CHECKS_UNBOXED, Usage

__all__ = [
    "FOLDS",
    "SEEN_SPLITS",
    "VIEW_FORMAT",
    "AblationView",
    "AskedAndPaid",
    "BaselineView",
    "Cell",
    "CellState",
    "CurvePoint",
    "DraftView",
    "EditView",
    "Fate",
    "Funnel",
    "GateView",
    "HeatRow",
    "PairView",
    "PatchTestView",
    "RunCaps",
    "RunView",
    "StepView",
    "TestView",
    "VersionView",
]

VIEW_FORMAT = 2
"""Rises when a field of the view changes its meaning or goes away; a new field leaves it as it is."""


FOLDS: Final = ("fold 1", "fold 2")
"""Names of two folds that teach and judge in turn, where other suites have splits."""

SEEN_SPLITS: Final = ("train", FOLDS[0])
"""Splits whose rollouts whoever proposes edits may see."""


class CellState(StrEnum):
    """How a task went under a version, over all its repeats."""

    PASSED = "passed"
    MIXED = "mixed"
    FAILED = "failed"
    NOT_EVALUATED = "not evaluated"


@dataclass(frozen=True, slots=True)
class Cell:
    """A task under a version: `repeats` that were scored, how many `passed`, the mean score in the gate's metric."""

    repeats: int = 0
    passed: int = 0
    score: float | None = None

    @property
    def state(self) -> CellState:
        """Say it in a word; what was not run did not fail."""
        if not self.repeats:
            return CellState.NOT_EVALUATED
        if 0 < self.passed < self.repeats:
            return CellState.MIXED
        return CellState.PASSED if self.passed else CellState.FAILED


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A task under each version, in the order of `RunView.versions`.

    `split` is a split or a fold, empty when it is not known.
    """

    task: str
    split: str
    cells: tuple[Cell, ...]


class Fate(StrEnum):
    """What became of an edit in the end.

    A `refused` edit was never run; one that `moved nothing` helped no task in a patch test; without one that was
    `not needed` nothing failed; a `joined` one is in the draft and met no gate.
    """

    REFUSED = "refused"
    UNMOVED = "moved nothing"
    NOT_NEEDED = "not needed"
    JOINED = "joined"
    INCONCLUSIVE = "inconclusive"
    REJECTED = "rejected"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class AblationView:
    """What ablation found of an edit, which was left out of the candidate on train tasks that it cites."""

    tasks: int
    without: float | None
    with_it: float | None
    kept: bool
    reason: str


@dataclass(frozen=True, slots=True)
class PatchTestView:
    """A patch test: ids of its edits, the failing train tasks that were run, and those that passed or moved on."""

    edits: tuple[str, ...]
    tasks: tuple[str, ...]
    moved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EditView:
    """A proposed edit and what became of it."""

    id: str
    step: int
    op: str
    section: str
    anchor: str
    before: str
    after: str
    rationale: str
    tasks: tuple[str, ...]
    tokens_added: int
    tokens_removed: int
    fate: Fate
    reason: str
    ablation: AblationView | None = None
    gate: int | None = None
    version: int | None = None
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many edits came how far; `tested` ones were in a patch test, `kept` ones stayed in the draft after it."""

    proposed: int = 0
    refused: int = 0
    tested: int = 0
    kept: int = 0
    gated: int = 0
    accepted: int = 0


@dataclass(frozen=True, slots=True)
class PairView:
    """A held-out task in a comparison: mean score and share of passes of both sides, None where not evaluated."""

    task: str
    before: float | None = None
    after: float | None = None
    passed_before: float | None = None
    passed_after: float | None = None


@dataclass(frozen=True, slots=True)
class GateView:
    """A comparison of a candidate with the incumbent on `val`."""

    number: int
    step: int
    kind: str
    verdict: Verdict
    at: str = ""
    edits: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None
    rollouts: int | None = None
    version: int | None = None
    tasks: tuple[PairView, ...] = ()
    passed: bool | None = None


@dataclass(frozen=True, slots=True)
class VersionView:
    """A text of the skill: number 0 is what training starts from; others were accepted, or are a person's `change`."""

    number: int
    commit: str
    digest: str
    text: str
    tokens: int
    step: int = 0
    kind: str = ""
    score: float | None = None
    gate: int | None = None
    rollouts: int | None = None
    edits: tuple[str, ...] = ()
    at: str = ""
    usd: float | None = None
    turns: float | None = None
    front: bool = False
    expected: float | None = None
    grading: Grading | None = None
    passed: str = ""


@dataclass(frozen=True, slots=True)
class DraftView:
    """What waited when the run ended, or waits now."""

    text: str
    tokens: int
    edits: tuple[str, ...]
    grading: Grading | None = None
    branch: str = ""
    commit: str = ""
    taken: str = ""
    headline: Headline | None = None
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BaselineView:
    """The first skill on `val`."""

    tally: Tally
    score: float
    noise: float | None = None
    least_gain: float | None = None


@dataclass(frozen=True, slots=True)
class StepView:
    """A step: its epoch, its edit budget, how the train tasks before it went, its patch tests, and what failed in it.

    The epoch says nothing where the run has no `steps_planned`.
    """

    number: int
    epoch: int
    edit_budget: int
    train: Tally | None = None
    failure: str = ""
    patch_tests: tuple[PatchTestView, ...] = ()


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A measurement on `val`: `start`, or the outcome of a gate."""

    rollouts: int | None
    score: float
    outcome: str
    best: float
    gate: int | None = None
    version: int | None = None
    passed: str = ""


@dataclass(frozen=True, slots=True)
class TestView:
    """The release check on the held-out `test` split."""

    __test__ = False  # pytest would take it for a test

    before: Tally
    after: Tally
    verdict: Verdict
    interval: tuple[float, float] | None = None
    released: str = ""
    look: int = 1
    tasks: tuple[PairView, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedAndPaid:
    """How many answers a run asked for (None until it is over), and how many of them it paid for; the rest replayed."""

    asked: int | None = None
    paid: int = 0

    @property
    def replayed(self) -> int | None:
        """Count the answers that were recorded before, None until the run is over."""
        return None if self.asked is None else max(0, self.asked - self.paid)


@dataclass(frozen=True, slots=True)
class RunCaps:
    """What the run may consume at most; 0 is no cap."""

    rollouts: int = 0
    usd: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class RunView:
    """A run, as its record tells it."""

    run: str
    skill: str
    kind: str = "training"
    state: str = "finished"
    reason: str = ""
    started: str = ""
    ended: str = ""
    branch: str = ""
    base: str = ""
    suite: str = ""
    suite_digest: str = ""
    splits: Mapping[str, int] = field(default_factory=dict)
    target: str = ""
    model: str = ""
    judge: str = ""
    preset: str = ""
    metric: str = ""
    gate_rule: str = ""
    confidence: float = 0.9
    seed: int = 0
    settings: tuple[tuple[str, str], ...] = ()
    limits: RunCaps = field(default_factory=RunCaps)
    steps_planned: int = 0
    baseline: BaselineView | None = None
    steps: tuple[StepView, ...] = ()
    edits: tuple[EditView, ...] = ()
    gates: tuple[GateView, ...] = ()
    versions: tuple[VersionView, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    test: TestView | None = None
    test_withheld: str = ""
    funnel: Funnel = field(default_factory=Funnel)
    spend: Mapping[str, Usage] = field(default_factory=dict)
    rollouts: AskedAndPaid = field(default_factory=AskedAndPaid)
    calls: AskedAndPaid = field(default_factory=AskedAndPaid)
    heat: tuple[HeatRow, ...] = ()
    suspects: tuple[VerifierSuspected, ...] = ()
    set_aside: tuple[str, ...] = ()
    skipped: tuple[PromptSkipped, ...] = ()
    siblings: tuple[str, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()
    draft: DraftView | None = None
    format: int = VIEW_FORMAT

    @property
    def caution(self) -> str:
        """What scores are worth where programs of verifiers ran without a sandbox; empty elsewhere."""
        unboxed = self.target.endswith(CHECKS_UNBOXED)
        return "Scores of command verifiers can be gamed: their programs ran without a sandbox." if unboxed else ""

    @property
    def folded(self) -> bool:
        """Whether two folds taught and judged in turn."""
        return FOLDS[0] in self.splits

    @property
    def headline(self) -> Headline | None:
        """The tasks passed by the text that the run began with and by the newest version, on the same tasks.

        None where no version was accepted.
        """
        if self.test is not None:
            found = headline_of_verdict(self.test.verdict, HELD_OUT)
            return found or headline_of_tallies(self.test.before, self.test.after, HELD_OUT)
        chosen = [gate.verdict for gate in self.gates if gate.version is not None]
        if self.kind == "gate":
            chosen = [gate.verdict for gate in self.gates[-1:]]
        return headline_of_versions(chosen, "" if self.folded else VAL)

    @property
    def judge_words(self) -> str:
        """Name the judge, and say how often it agreed with itself where it was asked most; empty for none."""
        verdicts = [gate.verdict for gate in self.gates] + ([self.test.verdict] if self.test is not None else [])
        found = [verdict.judge for verdict in verdicts if verdict.judge is not None]
        if not found:
            return self.judge
        return f"{self.judge}; {max(found, key=lambda one: one.criteria).words}"

    @property
    def accepted(self) -> tuple[VersionView, ...]:
        """List the versions that were accepted."""
        return tuple(version for version in self.versions if version.number and version.kind != "change")

    @property
    def verdict(self) -> Outcome | None:
        """Say in a word what came of it: the release check's outcome, else the last gate's; None before any."""
        if self.test is not None:
            return self.test.verdict.outcome
        return self.gates[-1].verdict.outcome if self.gates else None
