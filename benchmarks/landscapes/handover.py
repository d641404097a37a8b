"""What a run hands over at its end, what it states of it, and whether that is true.

Owns following the events of a run, which text is handed over, the claims held against the truth, and what was spent
after the last useful edit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import nan

from benchmarks.landscapes.lines import read
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.truth import true_score, true_score_on
from benchmarks.landscapes.worlds import World
from skillopt.gate.decide import Outcome
from skillopt.gate.grades import Against, Grade, Grading
from skillopt.loop.events import DraftGraded, Event, GateDecided, RunEnded, StepStarted, VersionAccepted
from skillopt.settings import Metric, Settings
from skillopt.skills.document import SkillDocument
from skillopt.tasks import Split, Suite, digest_of

ACCEPTED = "accepted"
"""In place of the grade of a version that has none."""

_EPSILON = 1e-9
_LEFTOVER = 0.8
"""Probability from which a draft is handed over that was left after a version."""


@dataclass(slots=True)
class Watch:
    """Follows the events of a run and holds them against the truth."""

    world: World
    settings: Settings
    runner: SimulatedRunner
    document: SkillDocument
    suite: Suite
    seed: int
    versions: list[tuple[int, str]] = field(init=False)
    accepts: list[VersionAccepted] = field(default_factory=list)
    draft: DraftGraded | None = None
    spent: float = 0.0
    gains: list[float] = field(default_factory=list)
    end: RunEnded | None = None
    rounds: list[int] = field(default_factory=list)
    _asked_before: int = 0

    def __post_init__(self) -> None:
        """Begin with the first version."""
        self.versions = [(0, self.document.text)]

    def take(self, event: Event) -> None:
        """Note what an event says."""
        match event:
            case StepStarted() | RunEnded():
                self._end_step(event)
            case GateDecided():
                self.spent += event.verdict.error_spent
                if event.verdict.outcome is Outcome.ACCEPT:
                    self.gains.append(self.truth(event.text) - self.truth(self.document.text))
            case DraftGraded():
                self.draft = event
            case VersionAccepted():
                self.accepts.append(event)
                self.document = SkillDocument(event.text)
                self.versions.append((event.rollouts, event.text))
            case _:
                pass

    def truth(self, text: str, metric: Metric = Metric.SOFT) -> float:
        """True score of a document."""
        return true_score(self.world, text, metric)

    @property
    def curve(self) -> tuple[tuple[int, float], ...]:
        """The steps of the incumbent's true score."""
        return tuple((since, round(true_score(self.world, text), 6)) for since, text in self.versions)

    def _end_step(self, event: StepStarted | RunEnded) -> None:
        """Note how often the optimizer model was asked, one prompt after the other, since the last step began."""
        if self.runner.rounds > self._asked_before:
            self.rounds.append(self.runner.rounds - self._asked_before)
        self._asked_before = self.runner.rounds
        if isinstance(event, RunEnded):
            self.end = event


@dataclass(frozen=True, slots=True)
class Claim:
    """What was stated of a text, and the truth. Gains are of tasks passed.

    `tasks` is how many the grade names, `ran` how many tasks of the gate ran with this very text, and `percent` whether
    the grade in words states its probability, which is not a number where none is known.
    """

    kind: str
    grade: str
    probability: float
    stated: float
    low: float
    high: float
    gain: float
    here: float
    tasks: int
    ran: int = 0
    percent: bool = True

    @property
    def is_true(self) -> bool:
        """Whether the text is better; where these very tasks are all that is spoken of, on these."""
        return (self.here if self.grade == Grade.PROVEN_HERE else self.gain) > _EPSILON

    @property
    def covered(self) -> bool:
        """Whether the interval holds the true gain."""
        return self.low - _EPSILON <= self.gain <= self.high + _EPSILON


@dataclass(frozen=True, slots=True)
class Handover:
    """What was handed over: the graded draft, else the last version, else nothing but the first skill.

    A draft counts where it is offered, and after a version only with a probability of at least .8.
    """

    kind: str
    grade: str
    text: str
    score: float
    gain: float
    claims: tuple[Claim, ...]
    first: int | None
    useful: tuple[int, int]
    useless: int
    rule_lines: int
    rules: int
    rounds: tuple[int, ...]
    rollouts: int
    calls: int

    @property
    def claim(self) -> Claim | None:
        """What is stated of what is handed over; None where that is nothing, or has no grade."""
        return next((claim for claim in reversed(self.claims) if claim.kind == self.kind), None)

    @property
    def harmed(self) -> bool:
        """Whether what is handed over is truly worse than the first skill."""
        return self.gain < -_EPSILON

    def usd(self, rollout: float, call: float) -> float:
        """Return the price of the run in US dollars."""
        return self.rollouts * rollout + self.calls * call


def hand_over(watch: Watch, done: int) -> Handover:
    """Return what a run that has ended hands over."""
    if watch.end is None:
        raise ValueError("expected a run that has ended, found one without its last event; follow it to the end")
    draft, accepts, start = watch.draft, watch.accepts, watch.versions[0][1]
    kind, grade, text = "nothing", "", start
    if accepts:
        given = accepts[-1].grading
        kind, grade, text = "version", given.grade.value if given else ACCEPTED, accepts[-1].text
    if draft and draft.grading.offered and (not accepts or (draft.grading.probability or 0.0) >= _LEFTOVER):
        kind, grade, text = "draft", draft.grading.grade.value, draft.text
    useful = _useful_rules(watch, text, start)
    return Handover(
        kind=kind,
        grade=grade,
        text=text,
        score=watch.truth(text),
        gain=watch.truth(text) - watch.truth(start),
        claims=tuple(_claims(watch)),
        first=accepts[0].rollouts if accepts else None,
        useful=max((watch.runner.offered[rule] for rule in useful if rule in watch.runner.offered), default=(0, 0)),
        useless=sum(not _loses(watch, text, line) for line in _added(text, start)),
        rule_lines=sum(bool(_rules(watch, line)) for line in text.splitlines()),
        rules=len(_rules(watch, text)),
        rounds=tuple(watch.rounds),
        rollouts=done,
        calls=watch.end.calls,
    )


def _claims(watch: Watch) -> Iterator[Claim]:
    """Hold each grading against the truth: of a version over the one before it, of a draft over its incumbent."""
    texts = [text for _, text in watch.versions]
    for before, event in zip(texts, watch.accepts, strict=False):
        if event.grading:
            against = texts[0] if event.grading.against is Against.FIRST else before
            yield _claim(watch, "version", event.grading, against, event.text)
    if watch.draft:
        digests = {digest_of(SkillDocument(text).render()): text for text in texts}
        before = digests.get(watch.draft.incumbent, texts[-1])
        yield _claim(watch, "draft", watch.draft.grading, before, watch.draft.text)


def _claim(watch: Watch, kind: str, given: Grading, before: str, after: str) -> Claim:
    world, metric = watch.world, Metric.HARD
    gate = [task.id for task in watch.suite.tasks(Split.VAL)]
    there, then = (true_score(world, text, metric) for text in (before, after))
    was, now = (true_score_on(world, watch.seed, gate, text, metric) for text in (before, after))
    likely = given.probability if given.probability is not None else nan
    figures = likely, given.gain, given.low, given.high
    ran = len(watch.runner.tasks_run(after).intersection(gate))
    percent = given.grade is Grade.LIKELY
    return Claim(kind, given.grade.value, *figures, then - there, now - was, given.tasks, ran, percent)


def _rules(watch: Watch, text: str) -> list[int]:
    """List the rules of the world that a text says."""
    return [rule for rule in read(text).rules if rule < watch.world.rules]


def _useful_rules(watch: Watch, text: str, start: str) -> frozenset[int]:
    """Return the rules that came in and whose line costs something when it goes."""
    came = read(text).rules - read(start).rules
    lines = [line for line in _added(text, start) if read(line).rules & came]
    return frozenset[int]().union(*(read(line).rules for line in lines if _loses(watch, text, line)))


def _added(text: str, start: str) -> list[str]:
    first = set(start.splitlines())
    return [line for line in text.splitlines() if line.strip() and line not in first]


def _loses(watch: Watch, text: str, line: str) -> bool:
    return watch.truth(text.replace(f"{line}\n", "", 1)) < watch.truth(text) - _EPSILON
