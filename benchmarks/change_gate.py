"""How often `skillopt gate` refuses a change, by the harm that it does: python -m benchmarks.change_gate.

Owns the simulated tasks: each passes with probability 0.9 or 0.1, as its rule is there or not, so that a tenth of
all rollouts turns out the other way round. Half of the tasks pass with the old text; the change breaks a share of
those. Each run looks at the tasks in an order of its own. Measured with seed 0 and 200 changes a row:

    tasks  broken  refused  rollouts
       12      0%     0.00        29
       12     50%     0.05        49
       12    100%     0.53        40
       24      0%     0.01        47
       24     50%     0.34        81
       24    100%     0.97        43
       48      0%     0.01        65
       48     50%     0.77       107
       48    100%     0.98        49
"""

from random import Random

from skillopt.presets import make_settings
from skillopt.protocols import RolloutRequest
from skillopt.review.gate import ChangeGate, Demand
from skillopt.rollouts import Rollout
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored

__all__ = ["main", "refusals"]

_OLD, _NEW = (Skill("words", SkillDocument(text)) for text in ("old", "new"))
_FLIPS = 0.1


def refusals(tasks: int, broken: float, runs: int, seed: int) -> tuple[float, float]:
    """Gate simulated changes.

    Args:
        tasks: Tasks of `val`.
        broken: Share of the passing tasks that the change breaks, in [0, 1].
        runs: How many changes.
        seed: Of all draws.

    Returns:
        The share that was refused, and the mean number of rollouts.
    """
    val = ((Split.VAL, Task(str(number), f"task {number}", VerifierSpec("exact"))) for number in range(tasks))
    suite = Suite("simulated", tuple(val))
    refused = asked = 0
    for run in range(runs):
        random = Random(f"{seed}/{tasks}/{broken}/{run}")

        def score(request: RolloutRequest, random: Random = random) -> Rollout:
            number = int(request.task.id)
            works = number % 2 == 0 and not (request.skill == _NEW and number < broken * tasks)
            return scored(request, float(works != (random.random() < _FLIPS)))

        runner = ScriptedRunner(score, str)
        settings = make_settings(("run", {"seed": run}))  # each run looks at the tasks in an order of its own
        gate = ChangeGate(_OLD, _NEW, suite, settings, runner, Demand())
        list(gate.events())
        refused += gate.judged is not None and not gate.judged.passed
        asked += len(runner.requests)
    return refused / runs, asked / runs


def main() -> None:
    """Print the table."""
    print("tasks  broken  refused  rollouts")
    for tasks in (12, 24, 48):
        for broken in (0.0, 0.5, 1.0):
            share, asked = refusals(tasks, broken, 200, 0)
            print(f"{tasks:5}  {broken:6.0%}  {share:7.2f}  {asked:8.0f}")


if __name__ == "__main__":
    main()
