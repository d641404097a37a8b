"""Simulated candidates for `benchmarks.verdicts`: what they do to tasks, and a runner that goes by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored

OLD = Skill("words", SkillDocument("old"))

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


def simulated_tasks(count: int) -> list[Task]:
    """Make tasks whose ids are their numbers."""
    return [Task(str(number), f"task {number}", VerifierSpec("exact")) for number in range(count)]


def runner_of(world: Sequence[tuple[float, float]], random: Random) -> ScriptedRunner:
    """Run tasks that pass with the chance that the old text, or any other, gives them."""

    def score(request: RolloutRequest) -> Rollout:
        rate = world[int(request.task.id)][request.skill != OLD]
        return scored(request, float(random.random() < rate))

    return ScriptedRunner(score, str)
