"""One simulated run: the real loop on stand-ins for the tasks of a suite, in memory."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from random import Random
from statistics import fmean
from typing import Final

from skillopt.forecast.clocked_runner import ClockedRunner
from skillopt.forecast.proposer import START, Proposer, answer_prompt, said_in
from skillopt.forecast.worker_clock import WorkerClock
from skillopt.forecast.world import FeedbackKind, World
from skillopt.gate.grades import Grade
from skillopt.loop.events import DraftGraded, Event, RunEnded, VersionAccepted
from skillopt.loop.optimizer import train
from skillopt.loop.siblings import Sibling
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory, Usage
from skillopt.safety.lint import UNCHECKED
from skillopt.settings import Settings
from skillopt.tasks import JUDGED_KINDS, Suite, Task, VerifierSpec

__all__ = ["Consumption", "SimulatedRun", "Trained", "simulate_run", "stand_in"]

_BESIDE: Final = "beside "
"""Before the id of a sibling's task, which the suite may have, too."""

_JUDGED: Final = "rubric"


@dataclass(frozen=True, slots=True)
class Consumption:
    """What one rollout and one optimizer call are taken to consume, so that caps in dollars and tokens end runs."""

    rollout: Usage
    call: Usage


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training is begun with."""

    suite: Suite
    settings: Settings
    siblings: tuple[Sibling, ...] = ()


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """What one simulated run took and came to."""

    rollouts: int
    calls: int
    seconds: float
    capped: bool
    gain: float
    grade: Grade | None


def stand_in(trained: Trained) -> Trained:
    """Return the tasks with the same ids and splits that say nothing, so that simulating them is quick."""

    def plain(task: Task, name: str) -> Task:
        kind = _JUDGED if task.verifier.kind in JUDGED_KINDS else "exact"
        return Task(name, name, VerifierSpec(kind), tags=task.tags)

    def plainly(tasks: Iterable[Task]) -> tuple[Task, ...]:
        return tuple(plain(task, task.id) for task in tasks)

    suite = trained.suite
    folds = suite.folds and (plainly(suite.folds[0]), plainly(suite.folds[1]))
    splits = tuple((split, plain(task, task.id)) for split, task in suite.splits)
    siblings = (
        replace(one, skill=START, tasks=tuple(plain(task, f"{_BESIDE}{one.name}/{task.id}") for task in one.tasks))
        for one in trained.siblings
    )
    return replace(trained, suite=Suite(suite.name, splits, folds), siblings=tuple(siblings))


def simulate_run(
    trained: Trained,
    worlds: tuple[World, World],
    proposer: Proposer,
    seed: int,
    costs: Consumption,
    clock: WorkerClock,
) -> SimulatedRun:
    """Train in a simulated world; the same arguments give the same run."""
    answers = _SimulatedAnswers(worlds, proposer, seed, costs)
    runner = ClockedRunner(answers.run, answers.reply, clock, partial(_affords, trained.settings, costs))
    quick = {"scan_leaks": False, "name_failures": False, "allow": UNCHECKED}
    free = trained.settings.model_copy(update={"seed": seed, **quick})
    events = train(START, trained.suite, free, runner, siblings=trained.siblings, ahead=runner.ahead)
    text, grade, reason = _outcome(events)
    runner.close()
    gain = worlds[0].pass_rate(*said_in(text)) - worlds[0].pass_rate(frozenset(), 0)
    capped = "cap" in reason or "max_" in reason
    return SimulatedRun(runner.made, runner.calls, clock.now, capped, gain, grade)


def _affords(settings: Settings, costs: Consumption, rollouts: int, calls: int) -> bool:
    """Return whether caps on money and tokens leave so many rollouts and calls."""
    usd = rollouts * (costs.rollout.usd or 0.0) + calls * (costs.call.usd or 0.0)
    tokens = rollouts * costs.rollout.input_tokens + calls * costs.call.input_tokens
    return usd <= (settings.max_usd or inf) and tokens <= (settings.max_tokens or inf)


def _outcome(events: Iterable[Event]) -> tuple[str, Grade | None, str]:
    """Return the text that a run handed over, what was shown of it, and why the run ended."""
    text, grade, reason = START.document.text, None, ""
    for event in events:
        match event:
            case VersionAccepted():
                text, grade = event.text, event.grading.grade if event.grading else Grade.PROVEN
            case DraftGraded():
                text, grade = event.text, max(grade or event.grading.grade, event.grading.grade, key=_RANK.index)
            case RunEnded():
                reason = event.reason
            case _:
                pass
    return text, grade, reason


_RANK: Final = (Grade.WORSE, Grade.UNPROVEN, Grade.PROVEN_HERE, Grade.PROVEN)


class _SimulatedAnswers:
    """What target and optimizer model say in a world."""

    def __init__(self, worlds: tuple[World, World], proposer: Proposer, seed: int, costs: Consumption) -> None:
        self._worlds, self._proposer, self._seed = worlds, proposer, seed
        self._trajectory = Trajectory(usage=costs.rollout)
        self._call = costs.call
        self._chances: dict[tuple[str, str], list[float]] = {}
        self._texts: dict[str, tuple[frozenset[int], int]] = {}

    def reply(self, prompt: str) -> Reply:
        """Answer a prompt."""
        return Reply(answer_prompt(self._worlds[0], self._proposer, self._seed, prompt), self._call)

    def run(self, request: RolloutRequest) -> Rollout:
        """Do a task under a text; what lies beside it changes nothing."""
        task, digest = request.task, request.digest
        world = self._worlds[task.id not in self._worlds[0].needs]
        if digest not in self._texts:
            self._texts[digest] = said_in(request.skill.document.text) if request.skill else (frozenset(), 0)
        draw = Random(f"{self._seed}/{digest}/{task.id}/{request.repeat}")
        chances = self._chances.setdefault((digest, task.id), world.chances(task.id, *self._texts[digest]))
        done = [draw.random() < chance for chance in chances]
        passed = all(done)
        value = fmean(done) if world.partial else float(passed)
        failed = [need for need, well in zip(world.needs[task.id] or (None,), done, strict=True) if not well]
        return Rollout(
            task.id,
            digest,
            request.repeat,
            self._trajectory,
            Status.OK,
            Score(value, passed, "\n".join(_symptom(world, task.id, need) for need in failed)),
        )


def _symptom(world: World, task: str, need: int | None) -> str:
    """Return what a part that failed shows."""
    if world.feedback is FeedbackKind.MUTE:
        return "not as expected"
    name = "chance" if need is None else f"cause {need}"
    return f"{name} shows in {task}" if world.feedback is FeedbackKind.OWN or need is None else f"{name} shows"
