"""A world for other optimizers, and the figures of what they did in it, held against the truth.

Counts rollouts and calls, keeps the budget and answers proposals by the simulated optimizer model of the landscapes.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.landscapes.failing_models import Offers
from benchmarks.landscapes.lines import START
from benchmarks.landscapes.proposer import Situation, propose
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import best_score, start_of, true_score
from benchmarks.landscapes.worlds import WORLDS
from skillopt.protocols import RolloutRequest
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Split

_ANOTHER_SAMPLE = 1_000_003


class BudgetSpentError(Exception):
    """More rollouts were asked for than are left; training ends here."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The score of one rollout of a task, and what an optimizer model may read of it."""

    task: str
    score: float
    feedback: str


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one run; all scores are true ones."""

    world: str
    peer: str
    seed: int
    rollouts: int
    curve: tuple[tuple[int, float], ...]
    best: float
    asked: int
    calls: int


class SimulatedArena:
    """A world with a budget of rollouts and an optimizer model to ask."""

    def __init__(self, world: str, peer: str, seed: int, rollouts: int) -> None:
        self._world = WORLDS[world]
        if not self._world.steady:
            raise ValueError(f"expected a world in which no rollout fails, found {world!r}")
        suite = make_suite(self._world, seed)
        self._tasks = {task.id: task for split in (Split.TRAIN, Split.VAL) for task in suite.tasks(split)}
        # Folds that swap roles are our own loop's idea: others learn from one and choose by the other.
        parts = suite.folds or tuple(suite.tasks(split) for split in (Split.TRAIN, Split.VAL))
        self.train, self.val = (tuple(task.id for task in part) for part in parts)
        self.world, self.peer, self.seed, self.rollouts = world, peer, seed, rollouts
        self._skill = start_of(self._world)
        self.start = self._skill.document.text
        self._target = Target(self._world, seed)
        self._offers = Offers(self._world, seed)
        self._repeats: Counter[tuple[str, str]] = Counter()
        self._asked_before: Counter[Situation] = Counter()
        self._returned: list[tuple[int, str]] = [(0, self.start)]
        self._calls = 0
        self.cited: dict[str, tuple[str, ...]] = {}
        """By each line of the last proposal the tasks that it cites."""

    @property
    def left(self) -> int:
        """Rollouts that may still be asked for."""
        return self.rollouts - self._target.done

    def run(self, text: str, tasks: Sequence[str]) -> list[Outcome]:
        """Run each task once with the document; the same again is a new draw."""
        if len(tasks) > self.left:
            raise BudgetSpentError
        if text != self._skill.document.text:
            self._skill = START.with_document(SkillDocument(text))
        return [self._rollout(self._skill, task) for task in tasks]

    def propose(self, text: str, failing: Sequence[Outcome], edits: int) -> str:
        """Ask the proposer of the landscapes for the text with edits made; the same question gets another sample."""
        self._calls += 1
        shown = tuple((outcome.task, outcome.feedback) for outcome in failing)
        body = SkillDocument(text).body.splitlines()
        lines = tuple(line for line in body if line.strip() and body.count(line) == 1)
        situation = Situation(shown, text, lines, (), edits)
        seed = self.seed + _ANOTHER_SAMPLE * self._asked_before[situation]
        self._asked_before[situation] += 1
        # Whole lines are deleted, and new ones come to the end, where the last section is the one for rules.
        edited = text.rstrip("\n").split("\n")
        self.cited = {}
        for edit in self._offers.left(propose(self._world, seed, situation), lambda edit: edit.content):
            if edit.op == "add":
                edited += edit.content.split("\n")
                self.cited |= dict.fromkeys(edit.content.split("\n"), edit.tasks)
            else:
                edited.remove(edit.anchor)
                edited += [edit.content] if edit.op == "replace" else []
        return "\n".join(edited) + "\n"

    def returns(self, text: str) -> None:
        """Note which document would be handed over if training ended now."""
        if text != self._returned[-1][1]:
            self._returned.append((self._target.done, text))

    def figures(self) -> Figures:
        """Sum the run up."""
        curve = tuple((since, round(true_score(self._world, text), 6)) for since, text in self._returned)
        return Figures(
            world=self.world,
            peer=self.peer,
            seed=self.seed,
            rollouts=self.rollouts,
            curve=curve,
            best=best_score(self._world),
            asked=self._target.done,
            calls=self._calls,
        )

    def _rollout(self, skill: Skill, name: str) -> Outcome:
        key = (skill.digest, name)
        request = RolloutRequest(skill, self._tasks[name], self._repeats[key])
        self._repeats[key] += 1
        answer = self._target.run(request, "").answer
        return Outcome(name, self._target.judge(request, answer).value, answer)


def failures(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Outcomes with a score below 1."""
    return [outcome for outcome in outcomes if outcome.score < 1]
