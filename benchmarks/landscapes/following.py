"""Follows the events of a run of the loop, and holds them against the truth.

Owns what is noted of each event. Does not own the figures made of it (runs, handover).
"""

from dataclasses import dataclass, field

from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.truth import true_score
from benchmarks.landscapes.worlds import World
from skillopt.gate.decide import Outcome
from skillopt.loop.events import DraftGraded, Event, GateDecided, RunEnded, StepStarted, VersionAccepted
from skillopt.settings import Metric, Settings
from skillopt.skills.document import SkillDocument
from skillopt.tasks import Suite


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
