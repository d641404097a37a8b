"""The view of a run: everything that reports show, as one value, as recorded; its texts are untrusted."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Final

from skillopt.figures import Headline
from skillopt.gate.decide import Verdict
from skillopt.gate.grades import Grading
from skillopt.loop.events import (
    EditScreened,
    HeldOutTestMeasured,
    PatchTested,
    PromptSkipped,
    TextScreened,
    VerifierSuspected,
)
from skillopt.reports.lines import StepView
from skillopt.review.inspection import Suspicion
from skillopt.rollouts import CHECKS_UNBOXED, Usage, readable
from skillopt.safety.escaping import escape_json
from skillopt.skills.edits import Edit

FOLDS: Final = ("fold 1", "fold 2")
"""Names of two folds that teach and judge in turn, where other suites have splits."""

SEEN_SPLITS: Final = ("train", FOLDS[0])
"""Splits whose rollouts whoever proposes edits may see."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A task under a version: `repeats` that were scored, how many `passed`, the verifier's mean score.

    A task without repeats was not run, which is no failure.
    """

    repeats: int = 0
    passed: int = 0
    score: float | None = None

    @property
    def holds(self) -> bool:
        """Whether more than half of the repeats passed, so that one unlucky repeat of seven breaks nothing."""
        return 2 * self.passed > self.repeats


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A task under each version, in the order of `RunView.versions`; the split is empty when it is not known."""

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
class EditView:
    """A proposed edit, the section and the train tasks that it is for, and what became of it."""

    edit: Edit
    section: str
    tasks: tuple[str, ...]
    fate: Fate = Fate.JOINED
    reason: str = ""
    ablation: EditScreened | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class GateView:
    """A comparison of a candidate with the incumbent on `val`, by the ids of its edits."""

    kind: str
    verdict: Verdict
    edits: tuple[str, ...]
    version: int | None = None


@dataclass(frozen=True, slots=True)
class VersionView:
    """A text of the skill: number 0 is what training starts from; others were accepted."""

    number: int
    commit: str
    digest: str
    text: str
    tokens: int
    score: float | None = None
    passed: str = ""
    grading: Grading | None = None


@dataclass(frozen=True, slots=True)
class DraftView:
    """What waited when the run ended, or waits now."""

    text: str
    edits: tuple[str, ...]
    grading: Grading | None = None
    branch: str = ""
    commit: str = ""
    taken: str = ""
    headline: Headline | None = None
    marks: tuple[str, ...] = ()


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
    suite_digest: str = ""
    splits: Mapping[str, int] = field(default_factory=dict)
    target: str = ""
    model: str = ""
    judge: str = ""
    confidence: float = 0.9
    settings: tuple[tuple[str, str], ...] = ()
    headline: Headline | None = None
    steps: tuple[StepView, ...] = ()
    patch_tests: tuple[PatchTested, ...] = ()
    edits: tuple[EditView, ...] = ()
    gates: tuple[GateView, ...] = ()
    versions: tuple[VersionView, ...] = ()
    test: HeldOutTestMeasured | None = None
    test_withheld: str = ""
    spend: Mapping[str, Usage] = field(default_factory=dict)
    rollouts: int | None = None
    heat: tuple[HeatRow, ...] = ()
    suspects: tuple[VerifierSuspected, ...] = ()
    set_aside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skipped: tuple[PromptSkipped, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()
    new_acts: tuple[str, ...] = ()
    draft: DraftView | None = None
    units: tuple[TextScreened, ...] = ()

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
    def shrunk(self) -> bool:
        """Whether the run shortened a text, and all tasks but the held-out ones judged it."""
        return self.kind == "shrink"

    @property
    def accepted(self) -> tuple[VersionView, ...]:
        """The versions that were accepted."""
        return tuple(version for version in self.versions if version.number)

    @property
    def taken_gates(self) -> tuple[GateView, ...]:
        """The gates that accepted a version."""
        return tuple(gate for gate in self.gates if gate.version is not None)


def render_json(view: RunView) -> str:
    """Return the view as JSON, every field under its own name, with the figures that follow from it."""
    newest = view.test or next(reversed(view.gates), None)
    fields = asdict(view) | {"verdict": newest and newest.verdict.outcome}
    if view.headline is not None:
        fields["headline"]["words"] = view.headline.words
    return escape_json(readable(json.dumps(fields, ensure_ascii=False, indent=2)))
