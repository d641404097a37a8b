"""One simulated run: the real loop on stand-ins for the tasks of a suite, in memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from statistics import fmean
from typing import Final

from skillopt.forecast.proposer import START, Proposer, answer_prompt, said_in
from skillopt.forecast.world import FeedbackKind, World
from skillopt.gate.grades import Grade
from skillopt.loop.events import DraftGraded, Event, RunEnded, VersionAccepted
from skillopt.loop.optimizer import train
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory, Usage
from skillopt.settings import Settings
from skillopt.tasks import JUDGED_KINDS, Suite, Task, VerifierSpec

__all__ = ["Consumption", "SimulatedRun", "simulate_run", "stand_in"]

_TO_THE_END: Final = "nothing is left to learn"
_BETTER: Final = 1e-9
_JUDGED: Final = "rubric"


@dataclass(frozen=True, slots=True)
class Consumption:
    """What one rollout and one optimizer call are taken to consume, so that caps in dollars and tokens end runs."""

    rollout: Usage
    call: Usage


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """What one simulated run took and came to.

    Args:
        rollouts: Rollouts that were run, the held-out test included.
        calls: Optimizer calls.
        batches: Rollouts and calls in the order asked: for each that went side by side its task, empty for a call.
        capped: Whether a cap ended it.
        gain: True gain in tasks passed of what it handed over, from -1 to 1; 0 where it handed over nothing.
        grade: What was shown of that; None where it handed over nothing.
    """

    rollouts: int
    calls: int
    batches: tuple[tuple[str, ...], ...]
    capped: bool
    gain: float
    grade: Grade | None


def stand_in(suite: Suite) -> Suite:
    """Give the suite with tasks of the same ids and splits that say nothing, so that simulating them is quick."""

    def plain(task: Task) -> Task:
        kind = _JUDGED if task.verifier.kind in JUDGED_KINDS else "exact"
        return Task(task.id, task.id, VerifierSpec(kind), tags=task.tags)

    folds = suite.folds and (tuple(map(plain, suite.folds[0])), tuple(map(plain, suite.folds[1])))
    return Suite(suite.name, tuple((split, plain(task)) for split, task in suite.splits), folds)


def simulate_run(
    suite: Suite, settings: Settings, world: World, proposer: Proposer, seed: int, costs: Consumption
) -> SimulatedRun:
    """Train in a simulated world; the same arguments give the same run.

    Args:
        suite: As `stand_in` gives it.
        settings: Of the run that is foreseen, caps included.
        world: How the tasks go.
        proposer: What the optimizer model is worth.
        seed: Of all draws.
        costs: What a rollout and a call consume.
    """
    runner = _SimulatedRunner(world, proposer, seed, costs)
    free = settings.model_copy(update={"seed": seed, "scan_leaks": False, "name_failures": False})
    return _follow(train(START, suite, free, runner), world, runner)


def _follow(events: Iterable[Event], world: World, runner: "_SimulatedRunner") -> SimulatedRun:
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
    gain = world.pass_rate(*said_in(text)) - world.pass_rate(frozenset(), 0)
    capped = "cap" in reason or "max_" in reason
    return SimulatedRun(runner.made, runner.calls, tuple(runner.batches), capped, gain, grade)


_RANK: Final = (Grade.WORSE, Grade.UNPROVEN, Grade.PROVEN_HERE, Grade.PROVEN)


class _SimulatedRunner:
    """Answers the loop from a world, and counts what it is asked for."""

    def __init__(self, world: World, proposer: Proposer, seed: int, costs: Consumption) -> None:
        self._world, self._proposer, self._seed = world, proposer, seed
        self._trajectory = Trajectory(usage=costs.rollout)
        self._call = costs.call
        self._known: dict[tuple[str, str, int], Rollout] = {}
        self._chances: dict[tuple[str, str], list[float]] = {}
        self._texts: dict[str, tuple[frozenset[int], int]] = {}
        self.calls = 0
        self.batches: list[tuple[str, ...]] = []

    @property
    def made(self) -> int:
        """Count the rollouts that were run."""
        return len(self._known)

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run what was not run before."""
        before = len(self._known)
        found = tuple(self._rollout(request) for request in requests)
        if len(self._known) > before:
            self.batches.append(tuple(task for _, task, _ in islice(self._known, before, None)))
        return found

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:  # noqa: ARG002 - read from the prompt
        """Answer each prompt."""
        found = tuple(
            Reply(answer_prompt(self._world, self._proposer, self._seed, prompt), self._call) for prompt in prompts
        )
        self.calls += len(found)
        self.batches.append(("",) * len(found))
        return found

    def _rollout(self, request: RolloutRequest) -> Rollout:
        digest = request.skill.digest if request.skill else ""
        key = (digest, request.task.id, request.repeat)
        if key not in self._known:
            if digest not in self._texts:
                self._texts[digest] = said_in(request.skill.document.text) if request.skill else (frozenset(), 0)
            self._known[key] = self._run(request.task, digest, request.repeat)
        return self._known[key]

    def _run(self, task: Task, digest: str, repeat: int) -> Rollout:
        world = self._world
        draw = Random(f"{self._seed}/{digest}/{task.id}/{repeat}")
        chances = self._chances.setdefault((digest, task.id), world.chances(task.id, *self._texts[digest]))
        done = [draw.random() < chance for chance in chances]
        passed = all(done)
        value = fmean(done) if world.partial else float(passed)
        failed = [need for need, well in zip(world.needs[task.id] or (None,), done, strict=True) if not well]
        return Rollout(
            task.id,
            digest,
            repeat,
            self._trajectory,
            Status.OK,
            Score(value, passed, "\n".join(_symptom(world, task.id, need) for need in failed)),
        )


def _symptom(world: World, task: str, need: int | None) -> str:
    """Say what a part that failed shows."""
    if world.feedback is FeedbackKind.MUTE:
        return "not as expected"
    name = "chance" if need is None else f"cause {need}"
    return f"{name} shows in {task}" if world.feedback is FeedbackKind.OWN or need is None else f"{name} shows"
