"""The view of a run: everything that reports show, as one value.

Numbers and texts are as they were recorded, nothing rounded and nothing escaped. Texts of edits, tasks and reasons are
untrusted wherever they are shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
from skillopt.inspection.signs import Suspicion
from skillopt.loop.events import PromptSkipped, VerifierSuspected
from skillopt.reports.edit_views import EditView, Funnel, PatchTestView
from skillopt.reports.task_grid import FOLDS, HeatRow
from skillopt.rollouts import CHECKS_UNBOXED, Usage

__all__ = [
    "VIEW_FORMAT",
    "AskedAndPaid",
    "BaselineView",
    "CurvePoint",
    "DraftView",
    "GateView",
    "PairView",
    "RunCaps",
    "RunView",
    "StepView",
    "TestView",
    "VersionView",
]

VIEW_FORMAT = 2
"""Rises when a field of the view changes its meaning or goes away; a new field leaves it as it is."""


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
    """A comparison of a candidate with the incumbent on `val`.

    Args:
        number, step: From 1, in order, and when.
        kind: `edits`, `slow update`, or `change` for one by people.
        verdict: What was found: outcome, reason, scores, wins, ties, losses, flips, confidence.
        at: When it was first recorded, ISO 8601 in UTC.
        edits: Ids of the candidate's edits.
        interval: Limits of the gain, each at the confidence of the settings; None when not known.
        rollouts: Rollouts asked so far in the run, None when it is not recorded.
        version, tasks: What was accepted, None for nothing; the tasks of `val` in order, empty without the suite.
        passed: Whether a change by people is what was asked for, None for candidates.
    """

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
    """A text of the skill: number 0 is what training starts from; others were accepted, or are a person's `change`.

    Args:
        number, commit: From 0, and where it is in git, empty when it is not there.
        digest: Identifies the skill with all its files.
        text, tokens: The whole SKILL.md, and its estimated tokens.
        passed: Tasks of `val` passed, of how many, as measured; empty when not measured or not recorded.
        step, kind, gate, edits: The step, kind, number and edits of the gate that accepted it.
        score: Mean score on `val` in the gate's metric, as measured; None when not measured.
        rollouts, at: Rollouts asked until then, and when, ISO 8601 in UTC.
        usd, turns: Means over rollouts of its first gate, of the target; None when not known.
        front: Whether no other version is as good by score, tokens, and what of those two is known of all.
        expected: Score to expect when measured again, None for one that was not chosen for its score.
        grading: What was shown of it, None where that was not graded.
    """

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
    """What waited when the run ended, or waits now.

    Args:
        text, tokens: The whole SKILL.md, and its estimated tokens.
        edits: Ids of its edits.
        grading: What was shown of it, None before it was graded.
        branch, commit: Where it is published; no commit where it is not, or has been replaced.
        taken: The version that a person made of it, empty for none.
        headline: Tasks passed by the incumbent and by the draft; None where it was not measured.
        marks: Lines that a person must look at before it becomes a version, each with the reason and its text.
    """

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
    """The first skill on `val`.

    Args:
        tally: What its rollouts came to.
        score: Mean score in the gate's metric.
        noise: Standard error of a gain when nothing changed, None when it was measured once only.
        least_gain: The smallest gain that the gate could certify on this split, None when none.
    """

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
    """A measurement on `val`: `start`, or the outcome of a gate.

    Args:
        rollouts: Asked until then, None when not recorded.
        score: Share of tasks passed, in [0, 1].
        outcome: `start` or the gate's.
        best: The same of the newest version by then.
        gate, version: The gate and what it accepted, None for none.
        passed: Tasks passed, as in `2 of 48`; empty where no task was measured on both sides.
    """

    rollouts: int | None
    score: float
    outcome: str
    best: float
    gate: int | None = None
    version: int | None = None
    passed: str = ""


@dataclass(frozen=True, slots=True)
class TestView:
    """The release check on the held-out `test` split.

    Args:
        before, after: The version that was compared with, and the newest one.
        verdict: What was found.
        interval: Limits of the gain, each at the confidence that the settings ask for; None when not known.
        released: Digest of the version that was compared with, empty for where training started.
        look: Which look at this split this was for that version, from 1.
        tasks: The tasks of `test`, in the suite's order; empty when the suite is not at hand.
    """

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
    calls: int = 0
    usd: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class RunView:
    """A run, as its record tells it.

    Args:
        run, skill: Its id, and the name of the skill.
        kind: `training`, `proposal` when somebody else than the loop wrote the edits, or `gate` of a change.
        state: `running`, `finished`, `stopped`, `failed`, or `interrupted` (its process is gone).
        reason: Why it ended, empty while it goes on.
        started, ended: When, ISO 8601 in UTC; empty while it goes on.
        branch, base: Where its versions are, and the commit it started from, empty for none.
        suite, suite_digest: Name of the suite, and what identifies its tasks.
        splits: Tasks of each split, or of `fold 1` and `fold 2`, which teach and judge in turn; empty when the suite is
            not at hand.
        target, model, judge: Who did rollouts, proposed edits, and judged rubrics; empty for nobody.
        preset, metric, gate_rule, confidence, seed: The settings that say most.
        settings: All settings that can change a result, name and value.
        limits, steps_planned: Caps, and most steps; 0 where learning ends by what it finds.
        baseline: The first skill on `val`, None before it was measured.
        steps, edits, gates: Steps, all edits that were proposed, and all gates that decided, in order.
        versions: Number 0 first; the text that a `gate` compared is number 1, whatever became of it.
        curve: Score on `val` over rollouts.
        test, test_withheld: The release check, or why there was none, where a reason was given.
        funnel: How many edits came how far.
        spend: What the answers that the run paid for cost, role by role.
        rollouts, calls: Of the target and of the optimizer model, asked for and paid.
        heat: Tasks by versions, in the suite's order.
        suspects: Train tasks whose verifier looks wrong, and why.
        set_aside: Train tasks that failed under every patch.
        skipped: Prompts that got no answer, with the tasks that they were about.
        siblings: What was found of each protected sibling beside each candidate, in words.
        suspicions: Rollouts whose score may have been got without the work; read by `report`, not by `watch`.
        draft: What waits, None for nothing.
        format: Version of this shape.
    """

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
        """Say what scores are worth where programs of verifiers ran without a sandbox; empty elsewhere."""
        unboxed = self.target.endswith(CHECKS_UNBOXED)
        return "Scores of command verifiers can be gamed: their programs ran without a sandbox." if unboxed else ""

    @property
    def folded(self) -> bool:
        """Say whether two folds taught and judged in turn."""
        return FOLDS[0] in self.splits

    @property
    def headline(self) -> Headline | None:
        """Give the tasks passed by the text that the run began with and by the newest version, on the same tasks.

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
