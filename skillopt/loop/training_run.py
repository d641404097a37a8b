"""The state of one training run: the draft, what was measured of it, what is remembered, what may still be spent."""

from collections.abc import Iterator, Sequence
from random import Random

from skillopt.gate.gate import Gate
from skillopt.loop.caps import CappedRunner
from skillopt.loop.draft import Draft
from skillopt.loop.memory import Memory
from skillopt.loop.scheduling import Readiness
from skillopt.loop.suspect_verifiers import SuspectVerifiers
from skillopt.protocols import Runner
from skillopt.rollouts import Rollout
from skillopt.safety.leaks import index_protected_text
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.edits import Edit
from skillopt.tasks import Split, Suite, Task

__all__ = ["Shown", "TrainingRun", "has_passed"]

Shown = Sequence[tuple[Task, Rollout]]
"""Train tasks with rollouts that have a score: what a reflection is about."""


class TrainingRun:
    """What the stages of the loop share.

    Args:
        skill: Where training starts.
        suite: Tasks in three splits.
        settings: All that shapes the run.
        runner: Answers rollouts and prompts.
    """

    def __init__(self, skill: Skill, suite: Suite, settings: Settings, runner: Runner) -> None:
        self.start = self.epoch_start = skill
        self.suite, self.settings = suite, settings
        self._train, self.val, self.test = (suite.tasks(split) for split in Split)
        kept = 2 * len(self.val) if settings.gate_edits != 1 else 0
        self.runner = CappedRunner(runner, settings, 2 * len(self.test), kept)
        self.draft = Draft(skill)
        self.memory = Memory()
        self.readiness = Readiness(settings, len(self._train), len(self.val))
        self.gate = Gate(self.val, settings, self.runner, noise=self.readiness.noise)
        self.suspects = SuspectVerifiers(len(self._train), settings.suspect_share)
        self.protected = index_protected_text(suite) if settings.scan_leaks else None
        self.on_trust: set[str] = set()
        self.versions = 0
        self._batches = -(-len(self._train) // settings.batch_size)
        self.steps = self._batches * settings.epochs * settings.reflections

    @property
    def tasks(self) -> list[Task]:
        """List the train tasks that are not set aside."""
        return [task for task in self._train if task.id not in self.suspects.set_aside]

    @property
    def failing(self) -> set[str]:
        """Give the train tasks that failed when they were run last, but for those set aside."""
        return set(self.draft.failing) - self.suspects.set_aside

    @property
    def gate_is_due(self) -> bool:
        """Say whether waiting edits are worth a gate."""
        stubborn = set(self.draft.stubborn) - self.suspects.set_aside
        return self.readiness.due(self.draft, len(self.failing), len(stubborn))

    def batches(self, epoch: int) -> Iterator[tuple[int, Sequence[Task]]]:
        """Shuffle the train split and cut it; give each batch with its first step. Every task is seen once an epoch."""
        order, size, reflections = self.tasks, self.settings.batch_size, self.settings.reflections
        self.random("batches", epoch).shuffle(order)
        for number, start in enumerate(range(0, len(order), size)):
            first = ((epoch - 1) * self._batches + number) * reflections
            yield first + 1, order[start : start + size]

    def last_step(self, epoch: int) -> int:
        """Give the last step of an epoch."""
        return epoch * self._batches * self.settings.reflections

    def unsolved(self, shown: Shown) -> Shown:
        """Give the rollouts that failed, of tasks that still fail."""
        failing = self.failing
        return [(task, rollout) for task, rollout in shown if not has_passed(rollout) and task.id in failing]

    def scored(self, rollouts: Sequence[Rollout]) -> list[tuple[str, float]]:
        """Give task ids and scores by the metric of the run, of what was measured."""
        metric = self.settings.metric
        return [(rollout.task_id, metric.of(rollout.score)) for rollout in rollouts if rollout.score is not None]

    def remove(self, names: set[str]) -> list[Edit]:
        """Take waiting edits out of the draft again; give them and those that do not fit without them."""
        before = self.draft.waiting
        gone = self.draft.leave_out(names)
        self.readiness.note_removed([at for at, edit in enumerate(before) if edit in gone])
        return gone

    def random(self, stream: str, epoch: int) -> Random:
        """Give the draws of one purpose in one epoch; no two streams share any."""
        return Random(f"{self.settings.seed}/{stream}/{epoch}")


def has_passed(rollout: Rollout) -> bool:
    """Say whether a rollout was measured and passed."""
    return rollout.score is not None and rollout.score.passed
