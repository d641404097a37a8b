"""One run of the real loop in a world, and what it was worth, measured against the truth.

Owns driving the loop and the figures of a run. Does not own following its events and what is handed over at the end
(handover).
"""

from dataclasses import dataclass

from benchmarks.landscapes.failing_models import FadingModel, FailingModel, Offers
from benchmarks.landscapes.handover import Handover, Watch, hand_over
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import best_score, start_of
from benchmarks.landscapes.worlds import WORLDS, World
from skillopt.errors import InvalidMeasurementError
from skillopt.loop.optimizer import train
from skillopt.protocols import Model
from skillopt.settings import TABLES, Settings, make_settings
from skillopt.skills.document import SkillDocument
from skillopt.tasks import Suite

_GOOD = 0.95
_EPSILON = 1e-9
_MOST_RERUNS = 50
_NIGHTS_APART = 100_003


@dataclass(frozen=True, slots=True)
class Job:
    """What to run: settings in the order of flags, over those that the benchmark sets."""

    world: str
    preset: str
    seed: int
    rollouts: int
    changes: tuple[tuple[str, str], ...] = ()
    shipped: bool = False
    night: int = 0
    start: str = ""
    spent: float = 0.0

    @property
    def settings(self) -> Settings:
        """Train as shipped, or to the cap: no end by epochs."""
        forced: dict[str, object] = {"max_rollouts": self.rollouts, "seed": self.draws, "preset": self.preset}
        if not self.shipped:
            forced |= {"epochs": 1000}
        chosen: dict[str, object] = {**forced, **dict(self.changes)}
        settings = make_settings(("landscapes", {name: value for name, value in chosen.items() if name in TABLES}))
        constants = {name: value for name, value in chosen.items() if name not in TABLES}
        own = {name: value for name, value in constants.items() if name in Settings.model_fields}
        settings = Settings.model_validate({**settings.model_dump(), **own})
        return settings.model_copy(update={name: value for name, value in constants.items() if name not in own})

    @property
    def suite(self) -> Suite:
        """The tasks, without those that are held out."""
        return make_suite(WORLDS[self.world], self.seed, held_out=False)

    @property
    def draws(self) -> int:
        """The seed of the loop and of the optimizer model, which is another one each night."""
        return self.seed + _NIGHTS_APART * self.night


@dataclass(frozen=True, slots=True)
class Run:
    """What one run was worth; scores are true scores."""

    world: str
    preset: str
    seed: int
    changes: tuple[tuple[str, str], ...]
    curve: tuple[tuple[int, float], ...]
    best: float
    reach: int | None
    handed: Handover
    accepted: int
    false_accepts: int
    asked: int
    done: int
    calls: int
    spent: float = 0.0


def run_job(job: Job) -> Run:
    """Run the loop; where too little could be measured, give the same command again, as its message says."""
    world, settings, suite = WORLDS[job.world], job.settings, job.suite
    target, start = Target(world, job.seed, job.night), start_of(world)
    if job.start:
        start = start.with_document(SkillDocument(job.start))
    runner = SimulatedRunner(target, _model_of(world, job.draws))
    for reruns in range(_MOST_RERUNS):
        watch = Watch(world, settings, runner, start.document, suite, job.seed)
        try:
            for event in train(start, suite, settings, runner, spent=[job.spent] if job.spent else ()):
                runner.keep_failures()
                watch.take(event)
        except InvalidMeasurementError:
            if reruns + 1 == _MOST_RERUNS:
                raise
            runner.begin_again()
        else:
            return _summary(job, watch, target.done)
    raise AssertionError("the last rerun either returns or raises")


def _model_of(world: World, seed: int) -> Model:
    model: Model = SimulatedModel(world, seed)
    if world.habits.offers:
        model = FadingModel(model, Offers(world, seed))
    return FailingModel(model, world.lasting, seed) if world.lasting else model


def _summary(job: Job, watch: Watch, done: int) -> Run:
    if watch.end is None:
        raise AssertionError("the loop ended without saying so")
    best, curve = best_score(watch.world), watch.curve
    return Run(
        world=job.world,
        preset=job.preset,
        seed=job.seed,
        changes=job.changes,
        curve=curve,
        best=best,
        reach=next((since for since, score in curve if score >= _GOOD * best - _EPSILON), None),
        handed=hand_over(watch, done),
        accepted=len(watch.gains),
        false_accepts=sum(gain <= _EPSILON for gain in watch.gains),
        asked=watch.end.rollouts,
        done=done,
        calls=watch.end.calls,
        spent=watch.spent,
    )
