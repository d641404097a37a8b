"""Simulated candidates for `benchmarks.verdicts`: what they do to tasks, and a runner that goes by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored

__all__ = ["OLD", "Change", "SimulatedDraft", "draw_draft", "runner_of", "simulated_tasks"]

OLD = Skill("words", SkillDocument("old"))

_TRAIN = 24
_EVEN = 0.5
_Rates = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Change:
    """What a candidate does: the share of the failing tasks that it mends, and of the passing ones that it breaks."""

    name: str
    mends: float = 0.0
    breaks: float = 0.0

    def draw(self, tasks: int, flips: float, random: Random, passing: float = _EVEN) -> _Rates:
        """Draw tasks: the chance of each to pass before and after."""
        drawn = []
        for _ in range(tasks):
            before = random.random() < passing
            after = random.random() >= self.breaks if before else random.random() < self.mends
            drawn.append((abs(before - flips), abs(after - flips)))
        return drawn


@dataclass(frozen=True, slots=True)
class SimulatedDraft:
    """A draft: what it gained on train, the tasks of `val`, and its true gain on tasks like these."""

    train_before: float
    train_after: float
    train_tasks: int
    val: _Rates
    gain: float


def draw_draft(tasks: int, real: float, random: Random) -> SimulatedDraft:
    """Draw drafts that do better on train, because no other draft waits.

    A share of them helps on other tasks half as much or more, half of the rest not at all, the other half does harm.
    """
    while True:
        flips, passing, kind = random.choice((0.05, 0.1, 0.2)), random.uniform(0.2, 0.7), random.random()
        train, val = Change("train", random.uniform(0, 0.3)), Change("val")
        if kind < real:
            train = Change("train", random.uniform(0.1, 1.0))
            val = Change("val", train.mends * random.uniform(0.5, 1.0))
        elif kind < (1 + real) / 2:
            val = Change("val", train.mends * random.uniform(0, 0.5), random.uniform(0.05, 0.4))
            train = Change("train", train.mends, val.breaks * random.uniform(0, 0.6))
        shown = train.draw(_TRAIN, flips, random, passing)
        before, after = (fmean(random.random() < pair[side] for pair in shown) for side in (0, 1))
        if after > before:
            gain = ((1 - passing) * val.mends - passing * val.breaks) * (1 - 2 * flips)
            return SimulatedDraft(before, after, _TRAIN, val.draw(tasks, flips, random, passing), gain)


def simulated_tasks(count: int) -> list[Task]:
    """Make tasks whose ids are their numbers."""
    return [Task(str(number), f"task {number}", VerifierSpec("exact")) for number in range(count)]


def runner_of(world: Sequence[tuple[float, float]], random: Random) -> ScriptedRunner:
    """Run tasks that pass with the chance that the old text, or any other, gives them."""

    def score(request: RolloutRequest) -> Rollout:
        rate = world[int(request.task.id)][request.skill != OLD]
        return scored(request, float(random.random() < rate))

    return ScriptedRunner(score, str)
