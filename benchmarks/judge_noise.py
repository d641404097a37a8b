"""Error and power of gate and grades where a model judges, in simulation: what its flips do to verdicts.

    python -m benchmarks.judge_noise [--runs RUNS]

Everything here is simulated: tasks with five criteria each, three in five met under the incumbent. The judge gives the
wrong mark with some probability, either drawn anew in each reading (`fresh`) or once for each text (`stuck`: it agrees
with itself always, and repeats tell nothing).
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from benchmarks.verdicts import OLD, simulated_tasks
from skillopt.gate.decide import Outcome
from skillopt.gate.gate import Gate
from skillopt.gate.grades import Grade
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Judgement, Rollout, Score, Status, Trajectory
from skillopt.settings import make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.testing import ScriptedRunner

_NEW = Skill("words", SkillDocument("new"))
_CRITERIA = ("a", "b", "c", "d", "e")
_MET = 0.6
_SIZES = (8, 12, 24)
_FLIPS = (0.0, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class JudgedWorld:
    """What is true, and how it is judged."""

    tasks: int
    mends: float
    flips: float
    stuck: bool
    changes: float

    def runner(self, random: Random) -> ScriptedRunner:
        """Draw the tasks, and run them."""
        return ScriptedRunner(_Results(self, random).rollout, str)


@dataclass(slots=True)
class _Results:
    """Rollouts of one world."""

    world: JudgedWorld
    random: Random
    known: dict[str, list[str]] = field(default_factory=dict)
    truth: list[tuple[list[bool], list[bool]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for _ in range(self.world.tasks):
            before = [self.random.random() < _MET for _ in _CRITERIA]
            self.truth.append((before, [met or self.random.random() < self.world.mends for met in before]))

    def rollout(self, request: RolloutRequest) -> Rollout:
        """Run and judge once."""
        new = request.skill != OLD
        truth = self.truth[int(request.task.id)][new]
        real = [met is not (self.random.random() < self.world.changes) for met in truth]
        shown = f"{request.task.id} {new} {real}"
        readings = self.known.get(shown) or [self._read(real) for _ in range(3)]
        if self.world.stuck:
            self.known[shown] = readings = [readings[0]] * 3
        first, second, _ = readings
        again = "".join("-" if one == other else last for one, other, last in zip(*readings, strict=True))
        met = [one if one == other else last for one, other, last in zip(*readings, strict=True)]
        value = met.count("y") / len(met)
        marks = (first, second) if first == second else (first, second, again)
        score = Score(value, value == 1.0, judgement=Judgement(_CRITERIA, marks, shown))
        digest = request.skill.digest if request.skill else ""
        return Rollout(request.task.id, digest, request.repeat, Trajectory(), Status.OK, score)

    def _read(self, real: Sequence[bool]) -> str:
        return "".join("y" if met is not (self.random.random() < self.world.flips) else "n" for met in real)


def verdict_rates(world: JudgedWorld, runs: int) -> tuple[float, float]:
    """Return the share of first gates that accept, and of drafts graded `proven` or `proven here` after four rounds."""
    accepted = graded = 0
    for run in range(runs):
        settings = make_settings(("benchmark", {"seed": run}))
        runner = world.runner(Random(f"{run}/{world}"))
        tasks = simulated_tasks(world.tasks)
        accepted += Gate(tasks, settings, runner).decide("here", OLD, _NEW).outcome is Outcome.ACCEPT
        gate = Gate(tasks, settings, runner, first_repeat=100)
        graded += gate.grade("here", OLD, _NEW, rounds=4).grading.grade in (Grade.PROVEN, Grade.PROVEN_HERE)
    return accepted / runs, graded / runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--runs", type=int, default=200, help="a cell")
    asked = parser.parse_args(arguments)
    print(f"| candidate | judge | outcomes that change | {' | '.join(f'{size} tasks' for size in _SIZES)} |")
    print("|---" * (3 + len(_SIZES)) + "|")
    for mends, name in ((0.0, "same"), (0.5, "mends half")):
        for stuck in (False, True):
            for flips in _FLIPS[stuck:]:
                for changes in (0.0, 0.1):
                    worlds = (JudgedWorld(size, mends, flips, stuck, changes) for size in _SIZES)
                    cells = (f"{one:.2f}, {all_:.2f}" for one, all_ in (verdict_rates(w, asked.runs) for w in worlds))
                    judge = f"{'stuck' if stuck else 'fresh'}, flips {flips:.0%}"
                    print(f"| {name} | {judge} | {changes:.0%} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
