"""Result of a review: what was found in each changed skill, what was measured, and whether the change may pass."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from skillopt.gate.decide import Verdict
from skillopt.gate.judge_noise import share_interval
from skillopt.rollouts import Rollout, Usage
from skillopt.safety.capabilities import NewCapability


class ChangeKind(StrEnum):
    """What became of a skill between two revisions."""

    ADDED = "added"
    MODIFIED = "modified"
    RENAMED = "renamed"
    DELETED = "deleted"


class Required(StrEnum):
    """What a change must be: shown `better`, or not shown worse."""

    BETTER = "better"
    NOT_WORSE = "not-worse"


class Weight(StrEnum):
    """What a finding does: it refuses the change, warns (and refuses when strict), or is for information."""

    REFUSE = "refuse"
    WARN = "warn"
    NOTE = "note"


class Standing(StrEnum):
    """Where a skill stands; a measurement refuses, passes or cannot tell.

    `cannot tell` is no harm shown, and none that is worth speaking of ruled out. `untestable` is one of which nothing
    here could show anything: no suite or one that is too small, no judge, no key, or a change of files that the harness
    does not use. `invalid` is one of which too little was measured.
    In the order in which they are counted: what needs a look first.
    """

    REFUSED = "refused"
    INVALID = "invalid"
    CANNOT_TELL = "cannot tell"
    UNTESTABLE = "untestable"
    PASSED = "passed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class ChangeFinding:
    """One thing that a change brings."""

    path: str
    line: int
    weight: Weight
    rule: str
    message: str
    person: bool = False

    def refuses(self, *, strict: bool) -> bool:
        """Return whether it refuses the change."""
        return self.weight is Weight.REFUSE or (strict and self.weight is Weight.WARN)


@dataclass(frozen=True, slots=True)
class Watched:
    """Tasks that the record of the old text passes: how many pass with each text, and what could go wrong unseen."""

    tasks: int
    passed_before: float
    passed_after: float
    record: str
    wrong_refusal: float
    unseen_harm: float
    unseen_task: float

    @property
    def passed(self) -> str:
        """Say how many pass, before by the record and after."""
        before, after = (f"{count:.1f}".removesuffix(".0") for count in (self.passed_before, self.passed_after))
        return f"{before} → {after} of {self.tasks}"

    @property
    def interval(self) -> str:
        """Say how often these tasks pass with the new text."""
        low, high = share_interval(self.passed_after / max(1, self.tasks), max(1, self.tasks))
        return f"{low:.0%} to {high:.0%} pass now (95%)"

    @property
    def errors(self) -> str:
        """Say how often this is wrong, either way."""
        shown = (f"{chance:.0%}" for chance in (self.unseen_harm, self.unseen_task))
        fifth, one = ("under 1%" if chance == "0%" else chance for chance in shown)
        return (
            f"a harmless change is refused in at most {self.wrong_refusal:.0%}; one that breaks a fifth of these tasks "
            f"passes in {fifth}, one that breaks a single task in {one}"
        )


@dataclass(frozen=True, slots=True)
class Judged:
    """What a measurement came to; a record may settle it without runs of the old text, and so without a verdict."""

    verdict: Verdict | None
    answer: Standing
    reason: str
    lowest: float
    confidence: float
    worse: tuple[str, ...] = ()
    watched: Watched | None = None

    @property
    def broken(self) -> tuple[str, ...]:
        """List the tasks that no longer pass, or are worse."""
        return self.verdict.broken if self.verdict else ()


@dataclass(frozen=True, slots=True)
class SuiteMeasurement:
    """What one suite says of a change; where the change alters its suite, the base's says it, too."""

    standing: Standing
    reason: str
    judged: Judged | None = None
    tasks: int = 0
    run: str = ""
    page: str = ""
    worst: str = ""
    rollouts: int = 0
    paid_rollouts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedChange(SuiteMeasurement):
    """One skill of a change, with what its own suite says."""

    skill: str
    kind: ChangeKind
    path: str
    before_path: str = ""
    files: tuple[str, ...]
    findings: tuple[ChangeFinding, ...] = ()
    base_measurement: SuiteMeasurement | None = None
    first_path: str
    first_line: int = 1
    difference: tuple[NewCapability, ...] = ()

    @property
    def for_a_person(self) -> tuple[ChangeFinding, ...]:
        """List what a person must look at."""
        return tuple(finding for finding in self.findings if finding.person)


@dataclass(frozen=True, slots=True)
class GateReport:
    """What became of a change."""

    base: str
    head: str
    before: str
    after: str
    required: Required
    strict: bool
    changes: tuple[GatedChange, ...]
    spent: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """1 when a skill is refused (strict: or untestable), else 3 when one could not be measured, else 0."""
        standings = {change.standing for change in self.changes}
        refusing = {Standing.REFUSED, Standing.UNTESTABLE} if self.strict else {Standing.REFUSED}
        return 1 if standings & refusing else 3 if Standing.INVALID in standings else 0

    @property
    def headline(self) -> str:
        """Return in a few words what became of it."""
        if not self.changes:
            return "no skill differs"
        counts = Counter(change.standing for change in self.changes)
        told = ", ".join(f"{counts[standing]} {standing.value}" for standing in Standing if counts[standing])
        marked = sum(bool(change.for_a_person) for change in self.changes)
        told += f"; {marked} {'needs' if marked == 1 else 'need'} a person" if marked else ""
        verb = "read" if not self.base else "differs" if len(self.changes) == 1 else "differ"
        return f"{len(self.changes)} skill{'' if len(self.changes) == 1 else 's'} {verb}: {told}"


@dataclass(frozen=True, slots=True)
class FollowedCriterion:
    """A criterion, and results that meet it, of how many, under the text before and after."""

    criterion: str
    before: tuple[int, int]
    after: tuple[int, int]

    def __str__(self) -> str:
        """Say it with the 95% interval of the newer share.

        >>> str(FollowedCriterion("Has a prefix", (2, 20), (18, 20)))
        'Has a prefix: 2 of 20 → 18 of 20 (70% to 97%)'
        """
        low, high = share_interval(self.after[0] / max(1, self.after[1]), max(1, self.after[1]))
        (met, size), (now, own) = self.before, self.after
        return f"{self.criterion}: {met} of {size} → {now} of {own} ({low:.0%} to {high:.0%})"


def followed_criteria(before: Iterable[Rollout], after: Iterable[Rollout]) -> tuple[FollowedCriterion, ...]:
    """List the criteria that were marked under both texts, the least followed first."""
    old, new = _counted(before), _counted(after)
    found = [FollowedCriterion(text, old[text], new[text]) for text in new if text in old]
    return tuple(sorted(found, key=lambda one: one.after[0] / one.after[1]))


def _counted(rollouts: Iterable[Rollout]) -> dict[str, tuple[int, int]]:
    marks: dict[str, Counter[str]] = {}
    for one in rollouts:
        judged = one.score.judgement if one.score else None
        if judged is not None and judged.readings and not judged.addressed:
            for text, mark in zip(judged.criteria, judged.readings[-1], strict=False):
                marks.setdefault(text, Counter())[mark] += 1
    return {text: (count["y"], size) for text, count in marks.items() if (size := count["y"] + count["n"])}
