"""A world for other optimizers, and the figures of what they did in it, held against the truth.

Owns counting, the budget, the proposer behind a plain function and the figures of a run. Does not own
the world itself (landscapes) or how an optimizer is reached (processes).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.landscapes.failing_models import Offers
from benchmarks.landscapes.lines import START
from benchmarks.landscapes.proposer import Situation, propose, seeded
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import best_score, start_of, true_score
from benchmarks.landscapes.worlds import WORLDS
from benchmarks.peers.exchange import BudgetSpentError, Edit, Outcome, Proposal, Terms
from skillopt.protocols import RolloutRequest
from skillopt.skills.document import Skill, SkillDocument, estimate_tokens
from skillopt.tasks import Split

__all__ = ["Figures", "SimulatedArena", "area", "first_reaching"]

_GOOD = 0.95
_EPSILON = 1e-9
_ANOTHER_SAMPLE = 1_000_003


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run was worth; all scores but `reported` are true ones.

    Args:
        world: Its name.
        peer: Name of the optimizer.
        seed: Of the run.
        rollouts: What it was allowed.
        curve: (rollouts used, true score of what would be handed over from there on).
        best: Score of the best document.
        area: Mean of the curve over all rollouts allowed.
        reach: Rollouts until 95% of the best; None for never.
        accepted: Documents that a gate let through; None where there is no gate.
        false_accepts: Those of them that are no better than the one they were compared with.
        reported: Score on the tasks it chose by, of the document handed over; None where nothing is reported.
        reported_true: Its true score, of the same kind.
        tokens: Of the body of the document handed over, estimated.
        asked: Rollouts used.
        calls: Of the optimizer model.
        wall: Seconds it took, the simulation included.
    """

    world: str
    peer: str
    seed: int
    rollouts: int
    curve: tuple[tuple[int, float], ...]
    best: float
    area: float
    reach: int | None
    accepted: int | None
    false_accepts: int | None
    reported: float | None
    reported_true: float
    tokens: int
    asked: int
    calls: int
    wall: float

    @property
    def harmed(self) -> bool:
        """Tell whether what is handed over is worse than what the run started from."""
        return self.curve[-1][1] < self.curve[0][1] - _EPSILON

    def at(self, rollouts: int) -> float:
        """Give the true score of what would have been handed over after so many rollouts."""
        return next(score for since, score in reversed(self.curve) if since <= rollouts)


class SimulatedArena:
    """A world behind the protocol `Arena`.

    Args:
        world: Its name.
        peer: Name of the optimizer.
        seed: Of the world and of the optimizer.
        rollouts: Most that may be asked for.

    Raises:
        ValueError: In this world rollouts fail, the target changes, or verdicts flip; peers have no answer to that.
    """

    def __init__(self, world: str, peer: str, seed: int, rollouts: int) -> None:
        self._name, self._world = world, WORLDS[world]
        if not self._world.steady:
            raise ValueError(f"expected a world without errors, shifts and flaky verifiers, found {world!r}")
        suite = make_suite(self._world, seed)
        self._tasks = {task.id: task for split in (Split.TRAIN, Split.VAL) for task in suite.tasks(split)}
        # Folds that swap roles are our own loop's idea: others learn from one and choose by the other.
        parts = suite.folds or tuple(suite.tasks(split) for split in (Split.TRAIN, Split.VAL))
        train, val = (tuple(task.id for task in part) for part in parts)
        self._skill = start_of(self._world)
        self.terms = Terms(peer, seed, rollouts, self._skill.document.text, train, val)
        self._target = Target(self._world, seed)
        self._offers = Offers(self._world, seed)
        self._repeats: Counter[tuple[str, str]] = Counter()
        self._asked_before: Counter[Situation] = Counter()
        self._returned: list[tuple[int, str]] = [(0, self.terms.start)]
        self._reported: float | None = None
        self._gains: list[float] = []
        self._calls = 0

    @property
    def left(self) -> int:
        """Rollouts that may still be asked for."""
        return self.terms.rollouts - self._target.done

    def run(self, text: str, tasks: Sequence[str]) -> list[Outcome]:
        """Run each task once with the document; the same again is a new draw.

        Raises:
            BudgetSpentError: There are more tasks than rollouts left; none was run.
        """
        if len(tasks) > self.left:
            raise BudgetSpentError
        if text != self._skill.document.text:
            self._skill = START.with_document(SkillDocument(text))
        return [self._rollout(self._skill, task) for task in tasks]

    def propose(self, text: str, failing: Sequence[Outcome], edits: int, rejected: Sequence[str] = ()) -> Proposal:
        """Ask the proposer of the landscapes; the same question again gets another sample."""
        self._calls += 1
        shown = tuple((outcome.task, outcome.feedback) for outcome in failing)
        body = SkillDocument(text).body.splitlines()
        lines = tuple(line for line in body if line.strip() and body.count(line) == 1)
        situation = Situation(shown, text, lines, tuple(rejected), edits)
        seed = self.terms.seed + _ANOTHER_SAMPLE * self._asked_before[situation]
        self._asked_before[situation] += 1
        made = self._offers.left(propose(self._world, seed, situation), lambda edit: edit.content)
        listed = tuple(Edit(edit.op, edit.content or edit.anchor, edit.tasks) for edit in made)
        return Proposal(_edited(text, listed), listed)

    def returns(self, text: str, reported: float | None = None) -> None:
        """Note which document would be handed over, and the score reported with it."""
        self._reported = reported
        if text != self._returned[-1][1]:
            self._returned.append((self._target.done, text))

    def accepts(self, parent: str, child: str) -> None:
        """Note what a gate let through."""
        self._gains.append(true_score(self._world, child) - true_score(self._world, parent))

    def rank(self, supports: Sequence[int]) -> list[int]:
        """Order at random, or by support where the optimizer model of this world does so."""
        self._calls += 1
        order = list(range(len(supports)))
        seeded(self.terms.seed, "rank", self._calls, supports).shuffle(order)
        if self._world.habits.support:
            order.sort(key=lambda at: -supports[at])
        return order

    def called(self) -> None:
        """Count a call of the optimizer model that neither proposes nor ranks."""
        self._calls += 1

    def figures(self, wall: float, *, gated: bool) -> Figures:
        """Sum the run up.

        Args:
            wall: Seconds it took.
            gated: Whether the optimizer has a gate.
        """
        curve = tuple((since, round(true_score(self._world, text), 6)) for since, text in self._returned)
        best, last = best_score(self._world), self._returned[-1][1]
        return Figures(
            world=self._name,
            peer=self.terms.peer,
            seed=self.terms.seed,
            rollouts=self.terms.rollouts,
            curve=curve,
            best=best,
            area=area(curve, self.terms.rollouts),
            reach=first_reaching(curve, best),
            accepted=len(self._gains) if gated else None,
            false_accepts=sum(gain <= _EPSILON for gain in self._gains) if gated else None,
            reported=self._reported,
            reported_true=true_score(self._world, last),
            tokens=estimate_tokens(SkillDocument(last).body),
            asked=self._target.done,
            calls=self._calls,
            wall=wall,
        )

    def _rollout(self, skill: Skill, name: str) -> Outcome:
        key = (skill.digest, name)
        request = RolloutRequest(skill, self._tasks[name], self._repeats[key])
        self._repeats[key] += 1
        answer = self._target.run(request, "").answer
        return Outcome(name, self._target.judge(request, answer).value, answer)


def _edited(text: str, edits: Sequence[Edit]) -> str:
    """Delete whole lines and add new ones at the end, where the last section is the one for rules."""
    lines = text.rstrip("\n").split("\n")
    for edit in edits:
        if edit.op == "add":
            lines.append(edit.line)
        else:
            lines.remove(edit.line)
    return "\n".join(lines) + "\n"


def first_reaching(curve: Sequence[tuple[int, float]], best: float) -> int | None:
    """Give the rollouts after which the curve first came to 95% of the best."""
    return next((since for since, score in curve if score >= _GOOD * best - _EPSILON), None)


def area(curve: Sequence[tuple[int, float]], rollouts: int) -> float:
    """Average a step function over the rollouts allowed."""
    ends = [since for since, _ in curve[1:]] + [rollouts]
    pieces = zip(curve, ends, strict=True)
    return sum(score * (max(since, min(end, rollouts)) - since) for (since, score), end in pieces) / rollouts
