"""One question to an optimizer model whose right answer is known: a document, evidence, and what is worth what.

Owns planting helpful, harmful and idle lines in a document, running tasks under it, and the candidate edits with
their true gains. Does not own the worlds, their truth or their target (landscapes) or asking (asking).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from benchmarks.landscapes.lines import SECTION, START, block_line, harm_line, idle_line, rule_line
from benchmarks.landscapes.proposer import seeded
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite, needed_rules
from benchmarks.landscapes.truth import document_of, true_score
from benchmarks.landscapes.worlds import WORLDS, World
from skillopt.errors import EditError
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.tasks import Split, Task

__all__ = ["Case", "make_case"]

_PRESENT: Final = 5
"""Rules that the document has."""

_DOUBTFUL: Final = 2
"""Harmful lines that it has, and as many idle ones."""

_NEW: Final = 4
"""Rules that it lacks among the candidates."""

_Evidence = tuple[tuple[Task, Rollout], ...]
_ByRule = Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Case:
    """A question and its answer.

    Args:
        name: Of the world.
        seed: Of all that was drawn.
        document: Has lines of each kind.
        shown: Train tasks under this document, each with a score.
        edits: Candidates in random order: additions and deletions of each kind, with reasons that do not tell
            them apart.
        gains: By id, how much each candidate alone changes the true score.
    """

    name: str
    seed: int
    document: SkillDocument
    shown: _Evidence
    edits: tuple[Edit, ...]
    gains: Mapping[str, float]

    @property
    def world(self) -> World:
        """Give the world itself."""
        return WORLDS[self.name]

    @property
    def planted(self) -> tuple[str, ...]:
        """List the lines of the document that training could change."""
        return tuple(line for line in self.document.text.splitlines() if line.startswith("- "))

    @property
    def failing(self) -> _Evidence:
        """Give the tasks that went wrong."""
        return tuple(pair for pair in self.shown if pair[1].score is not None and not pair[1].score.passed)

    @property
    def actions(self) -> tuple[Edit, ...]:
        """List the candidates, and the deletion of each planted line that is not among them."""
        gone = {edit.anchor for edit in self.edits if edit.op is Op.DELETE}
        more = [line for line in self.planted if line not in gone]
        return (*self.edits, *(Edit(f"d{at}", Op.DELETE, line) for at, line in enumerate(more)))

    def gain(self, edit: Edit) -> float | None:
        """Give what any edit alone changes in the true score; None when it cannot be applied."""
        try:
            after = apply_edits(self.document, [edit]).document
        except EditError:
            return None
        # Sums of floats that are equal in truth differ by less than this.
        return round(true_score(self.world, after.text) - true_score(self.world, self.document.text), 9)


def make_case(name: str, seed: int, tasks: int) -> Case:
    """Plant a document, run train tasks under it, and derive candidates.

    Args:
        name: Of the world.
        seed: Of everything that is drawn.
        tasks: Train tasks that are run, each once.
    """
    world, draw = WORLDS[name], seeded(seed, "priority", name)
    rules = list(range(world.rules))
    draw.shuffle(rules)
    present, missing = rules[:_PRESENT], rules[_PRESENT:]
    harmful = _harmful(world, present[:_DOUBTFUL])
    idle = [idle_line(number) for number in range(_DOUBTFUL)]
    lines = [*map(rule_line, present), *harmful, *idle]
    draw.shuffle(lines)
    document = SkillDocument(document_of(tuple(lines)))
    skill = START.with_document(document)
    chosen = draw.sample(make_suite(world).tasks(Split.TRAIN), min(tasks, world.train))
    runner = SimulatedRunner(Target(world, seed), SimulatedModel(world, seed))
    rollouts = runner.rollouts([RolloutRequest(skill, task) for task in chosen])
    shown = tuple(pair for pair in zip(chosen, rollouts, strict=True) if pair[1].score is not None)
    case = Case(name, seed, document, shown, (), {})
    by_rule = _failing_by_rule(case)
    wanted = [rule for rule in missing if by_rule[rule]][:_NEW]
    wrong = [*_harmful(world, present[_DOUBTFUL:], 500), *(idle_line(500 + number) for number in range(_DOUBTFUL))]
    edits = [_add(rule_line(rule), by_rule, rule) for rule in wanted]
    shown_rules = [rule for rule in rules if by_rule[rule]]
    edits += [_add(line, by_rule, draw.choice(shown_rules)) for line in wrong[: _DOUBTFUL * 2]]
    edits += [_delete(line, by_rule, draw.choice(shown_rules)) for line in (*harmful, *idle)]
    edits += [_delete(rule_line(rule), by_rule, draw.choice(shown_rules)) for rule in present[-_DOUBTFUL:]]
    return _asked(case, edits, draw)


def _harmful(world: World, blocked: Sequence[int], first: int = 0) -> list[str]:
    """Write lines that do harm, in the way of the world."""
    if world.harm is None:
        return [block_line(rule) for rule in blocked[:_DOUBTFUL]]
    return [harm_line(first + number) for number in range(_DOUBTFUL)]


def _failing_by_rule(case: Case) -> _ByRule:
    """Give for each rule the tasks that failed and need it."""
    failing = [(task.id, needed_rules(case.world)[task.id][1]) for task, _ in case.failing]
    return {rule: tuple(task for task, rules in failing if rule in rules) for rule in range(case.world.rules)}


def _add(line: str, by_rule: _ByRule, rule: int) -> Edit:
    return Edit("?", Op.ADD, section=SECTION, content=f"- {line}", rationale=_why(by_rule, rule), tasks=by_rule[rule])


def _delete(line: str, by_rule: _ByRule, rule: int) -> Edit:
    return Edit("?", Op.DELETE, f"- {line}", rationale=_why(by_rule, rule), tasks=by_rule[rule])


def _why(by_rule: _ByRule, rule: int) -> str:
    """Give a reason of the form that the simulated proposer gives for right and for wrong edits."""
    return f"{len(by_rule[rule])} tasks show symptom S{rule:02d}."


def _asked(case: Case, edits: Sequence[Edit], draw: Random) -> Case:
    """Put candidates in random order, name them by it, and work out what they are worth."""
    order = list(edits)
    draw.shuffle(order)
    named = tuple(replace(edit, id=f"e{number}") for number, edit in enumerate(order, 1))
    gains = {edit.id: case.gain(edit) for edit in named}
    known = {name: gain for name, gain in gains.items() if gain is not None}
    return replace(case, edits=named, gains=known)
