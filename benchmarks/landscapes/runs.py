"""One run of the real loop in a world, and what it was worth, measured against the truth.

Owns driving the loop, following its events, and the figures of a run. Does not own tables (table).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import broken_tasks, make_suite
from benchmarks.landscapes.truth import best_score, start_of, true_score
from benchmarks.landscapes.worlds import WORLDS, World
from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome
from skillopt.loop.events import (
    BaselineMeasured,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    RunEnded,
    VerifierSuspected,
    VersionAccepted,
)
from skillopt.loop.optimizer import train
from skillopt.presets import make_settings
from skillopt.settings import Metric, Preset, Settings
from skillopt.skills.document import SkillDocument, estimate_tokens

__all__ = ["Job", "Run", "run_job"]

_GOOD = 0.95
_EPSILON = 1e-9
_MOST_RERUNS = 50


@dataclass(frozen=True, slots=True)
class Job:
    """What to run: settings in the order of flags, over those that the benchmark sets.

    Args:
        world: Its name.
        preset: Of the loop.
        seed: Of the world and of the loop.
        rollouts: What training may ask for; the held-out test comes on top.
        changes: Settings by name, as text.
    """

    world: str
    preset: str
    seed: int
    rollouts: int
    changes: tuple[tuple[str, str], ...] = ()

    @property
    def settings(self) -> Settings:
        """Train to the cap: no end by epochs, and none by patience."""
        cap = self.rollouts + 2 * WORLDS[self.world].test
        forced = {"epochs": 1000, "patience": 0, "max_rollouts": cap, "seed": self.seed, "preset": self.preset}
        return make_settings(("landscapes", forced), ("flags", dict(self.changes)))


@dataclass(frozen=True, slots=True)
class Run:
    """What one run was worth. Scores are true scores of the soft kind unless another kind is said.

    Args:
        world: Its name.
        preset: Of the loop.
        seed: Of the run.
        changes: Settings that were changed.
        curve: (rollouts asked, true score of the incumbent from there on).
        best: The true score of the best document, at the end.
        area: Mean true score of the incumbent over all rollouts allowed.
        reach: Rollouts until 95% of the best, after a shift if there is one; None for never.
        accepted: Versions accepted.
        gated: Candidates gated.
        false_accepts: Versions no better than their parent.
        harmful_accepts: Versions worse than their parent.
        missed: Better candidates that were not accepted.
        reported: Score on `val` to expect of the last version as its verdict has it, or the first one's; in the preset
            `paper` the score that it was accepted with, as published.
        reported_true: Its true score of the same kind.
        held-out: Verdict on the held-out test; empty when nothing was accepted.
        flagged: Train tasks flagged because their verifier looks wrong: how many of the broken, how many sound ones.
        set_aside: Those of them that were not trained on from there on, counted alike.
        tokens: Of the last document's body, estimated.
        asked: Rollouts asked for in training; those asked for twice count twice.
        done: Rollouts made, the held-out test included.
        calls: Prompts answered.
        reruns: How often too little could be measured, so that the command had to be given again.
        ended: Why it ended.
        wall: Seconds it took.
    """

    world: str
    preset: str
    seed: int
    changes: tuple[tuple[str, str], ...]
    curve: tuple[tuple[int, float], ...]
    best: float
    area: float
    reach: int | None
    accepted: int
    gated: int
    false_accepts: int
    harmful_accepts: int
    missed: int
    reported: float
    reported_true: float
    held_out: str
    flagged: tuple[int, int]
    set_aside: tuple[int, int]
    tokens: int
    asked: int
    done: int
    calls: int
    reruns: int
    ended: str
    wall: float

    @property
    def released_in_vain(self) -> bool:
        """Tell whether the held-out test let a version through that is no better than the first one."""
        return self.held_out == Outcome.ACCEPT and self.curve[-1][1] <= self.curve[0][1] + _EPSILON

    def at(self, rollouts: int) -> float:
        """Give the true score of what was the incumbent after so many rollouts."""
        return next(score for since, score in reversed(self.curve) if since <= rollouts)


def run_job(job: Job) -> Run:
    """Run the loop; where too little could be measured, give the same command again, as its message says.

    Raises:
        InvalidMeasurementError: Giving the command again does not help.
    """
    world, settings, began = WORLDS[job.world], job.settings, time.perf_counter()
    target, start = Target(world, job.seed), start_of(world)
    runner = SimulatedRunner(target, SimulatedModel(world, job.seed))
    for reruns in range(_MOST_RERUNS):
        published = settings.preset is Preset.PAPER
        watch = _Watch(world, settings.metric, published, runner, start.document, [(0, start.document.text)])
        try:
            for event in train(start, make_suite(world), settings, runner):
                runner.keep_failures()
                watch.take(event)
        except InvalidMeasurementError:
            if reruns + 1 == _MOST_RERUNS:
                raise
            runner.begin_again()
        else:
            return _summary(job, world, watch, reruns, target.done, time.perf_counter() - began)
    raise AssertionError("the last rerun either returns or raises")


@dataclass(slots=True)
class _Watch:
    """Follows the events of a run and holds them against the truth."""

    world: World
    metric: Metric
    as_published: bool
    runner: SimulatedRunner
    document: SkillDocument
    versions: list[tuple[int, str]]
    reported: float = 0.0
    verdicts: list[tuple[bool, float]] = field(default_factory=list)
    held_out: str = ""
    suspected: list[VerifierSuspected] = field(default_factory=list)
    end: RunEnded | None = None

    def take(self, event: Event) -> None:
        """Note what an event says."""
        match event:
            case BaselineMeasured():
                tally = event.tally
                means = {Metric.SOFT: tally.score, Metric.HARD: tally.passed}
                self.reported = means.get(self.metric, (tally.score + tally.passed) / 2)
            case GateDecided():
                gain = self.truth(self._candidate(event)) - self.truth(self.document.text)
                self.verdicts.append((event.verdict.outcome is Outcome.ACCEPT, gain))
            case VersionAccepted():
                verdict = event.verdict
                self.document = SkillDocument(event.text)
                self.reported = verdict.after if self.as_published else verdict.expected
                self.versions.append((event.rollouts, event.text))
            case HeldOutTestMeasured():
                self.held_out = event.verdict.outcome.value
            case VerifierSuspected():
                self.suspected.append(event)
            case RunEnded():
                self.end = event
            case _:
                pass

    def truth(self, text: str, metric: Metric = Metric.SOFT) -> float:
        """Give the true score as it is by now."""
        return true_score(self.world, text, metric, shifted=self.runner.shifted)

    @property
    def curve(self) -> tuple[tuple[int, float], ...]:
        """Give the steps of the incumbent's true score; a shift of the target is a step too."""
        shift = self.runner.shift_seen
        before = [(since, text) for since, text in self.versions if not shift or since < shift]
        after = [(since, text) for since, text in self.versions if shift and since >= shift]
        steps = [(since, true_score(self.world, text)) for since, text in before]
        if shift:
            after = [(shift, before[-1][1]), *after]
            steps += [(since, true_score(self.world, text, shifted=True)) for since, text in after]
        return tuple((since, round(score, 6)) for since, score in steps)

    def _candidate(self, event: GateDecided) -> str:
        """Give the text that was gated."""
        return event.text


def _summary(job: Job, world: World, watch: _Watch, reruns: int, done: int, wall: float) -> Run:
    if watch.end is None:
        raise AssertionError("the loop ended without saying so")
    shift, text = watch.runner.shift_seen, watch.document.text
    best, curve = best_score(world, shifted=shift > 0), watch.curve
    gains = [gain for accepted, gain in watch.verdicts if accepted]
    return Run(
        world=job.world,
        preset=job.preset,
        seed=job.seed,
        changes=job.changes,
        curve=curve,
        best=best,
        area=_area(curve, job.rollouts),
        reach=next((since for since, score in curve if since >= shift and score >= _GOOD * best - _EPSILON), None),
        accepted=len(gains),
        gated=len(watch.verdicts),
        false_accepts=sum(gain <= _EPSILON for gain in gains),
        harmful_accepts=sum(gain < -_EPSILON for gain in gains),
        missed=sum(not accepted and gain > _EPSILON for accepted, gain in watch.verdicts),
        reported=watch.reported,
        reported_true=watch.truth(text, watch.metric),
        held_out=watch.held_out,
        flagged=_split(world, watch.suspected),
        set_aside=_split(world, [event for event in watch.suspected if event.set_aside]),
        tokens=estimate_tokens(watch.document.body),
        asked=watch.end.rollouts - (2 * world.test if watch.held_out else 0),
        done=done,
        calls=watch.end.calls,
        reruns=reruns,
        ended=watch.end.reason,
        wall=wall,
    )


def _split(world: World, suspected: Sequence[VerifierSuspected]) -> tuple[int, int]:
    """Count suspects whose verifier is broken, and those whose verifier is sound; a rerun says the same again."""
    tasks = {event.task for event in suspected}
    return len(tasks & broken_tasks(world)), len(tasks - broken_tasks(world))


def _area(curve: Sequence[tuple[int, float]], rollouts: int) -> float:
    """Average a step function over the rollouts allowed."""
    ends = [since for since, _ in curve[1:]] + [rollouts]
    pieces = zip(curve, ends, strict=True)
    return sum(score * (max(since, min(end, rollouts)) - since) for (since, score), end in pieces) / rollouts
