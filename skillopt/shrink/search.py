"""Search for the units that tasks need: task by task, a group of units is left out and halved where the task fails.

A rollout is a pair of text and task, so each task asks for its own halving. A unit that one task needs stays for all,
so most tasks take one rollout that leaves out all the rest. Groups are prefixes of one order, the units that cost most
and say least of the task first: of two units that say the same, the later one stays. Whether a group can go is a
sequential probability ratio test with the loop's rates of passing (skillopt.loop.evidence).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from skillopt.loop.ablation import ENOUGH
from skillopt.loop.course import Course
from skillopt.loop.evidence import PassRates, TrainEvidence
from skillopt.shrink.units import Unit, plain_words
from skillopt.skills.document import Skill
from skillopt.tasks import Task

__all__ = ["Search", "confirm", "find_needed", "measure_start"]

_ROOT: Final = (-0.8, -4.5, ENOUGH)
_HALF: Final = (0.0, -ENOUGH, ENOUGH)
_SURE: Final = (0.0, -4.0, 4.0)
"""Evidence to begin with, to let a group go, and to say that a task needs some of it: for all that is left, a half, and
the half that names the unit. Most groups hold nothing that is needed; a unit that is lost weighs more than one that
stays."""

_MOST_RUNS: Final = 12
"""Runs of one text on one task; where they do not tell, the group stays."""

_STARTS: Final = 3
"""Most runs of the old text on a task; one that fails in most of them tells nothing."""


@dataclass(slots=True)
class _Question:
    """What is known of whether a task fails under a text."""

    evidence: float
    passed: list[bool] = field(default_factory=list)


@dataclass(slots=True)
class Search:
    """What is known of the units of a text."""

    evidence: TrainEvidence
    units: tuple[Unit, ...]
    build: Callable[[Sequence[Unit]], Skill]
    needed: dict[Unit, list[str]] = field(default_factory=dict)
    failing: list[str] = field(default_factory=list)
    """Tasks that fail under the old text, so that nothing can be seen to be lost in them."""
    unmeasured: set[str] = field(default_factory=set)
    questions: dict[tuple[str, str], _Question] = field(default_factory=dict)
    passed: dict[str, list[bool]] = field(default_factory=dict)
    """How each task went under the old text."""
    partial: bool = False
    """Whether some score was neither 0 nor 1."""

    @property
    def idle(self) -> list[Unit]:
        """List the units that no task is known to need."""
        return [unit for unit in self.units if unit not in self.needed]

    def ordered(self, task: Task) -> list[Unit]:
        """Order the idle units for a task: what shares least words with it first, and then what costs most."""
        own = plain_words("\n".join((task.prompt, *(file.path for file in task.files))))
        shared = {unit: len(plain_words(unit.text) & own) for unit in self.idle}
        return sorted(shared, key=lambda unit: (shared[unit], -unit.tokens, unit.start))


def measure_start(search: Search) -> Course[None]:
    """Run the old text on every task, and again where it fails, to know which tasks can tell anything."""
    names = list(search.evidence.tasks)
    for _ in range(_STARTS):
        found = yield from search.evidence.run(search.evidence.draft.skill, names)
        search.unmeasured.update(name for name in names if name not in found)
        for name, seen in found.items():
            search.partial = search.partial or (seen.rollout.score is not None and seen.rollout.score.value % 1 > 0)
            search.passed.setdefault(name, []).append(not seen.symptoms)
        names = [name for name in found if _failures(search.passed[name]) and not _decided(search.passed[name])]
    search.evidence.rates = PassRates()  # a task that passes when it runs again was answered all along
    for name, passed in search.passed.items():
        if 2 * _failures(passed) > len(passed):
            search.failing.append(name)
        else:
            for one in passed:
                search.evidence.rates.answer(held=one)


def _decided(passed: Sequence[bool]) -> bool:
    return 2 * max(_failures(passed), sum(passed)) > _STARTS


def _failures(passed: Sequence[bool]) -> int:
    return len(passed) - sum(passed)


def find_needed(search: Search, name: str) -> Course[None]:
    """Find the units that one task needs, one after the other, until it passes without all the rest."""
    pool = search.ordered(search.evidence.tasks[name])
    while pool := [unit for unit in pool if unit not in search.needed]:
        if not (yield from _fails(search, pool, name, _ROOT)):
            return
        unit = yield from _first_needed(search, pool, name)
        if unit is None:
            return
        search.needed.setdefault(unit, []).append(name)


def confirm(search: Search, unit: Unit) -> Course[None]:
    """Leave one unit more out of the short text, on the task that it was found by; where that passes it is not needed.

    That is for units that alone speak for their section: one that is found by mistake would make the others go.
    """
    rest = [other for other in search.units if other not in search.needed or other is unit]
    if not (yield from _fails(search, rest, search.needed[unit][0], _SURE)):
        del search.needed[unit]


def _first_needed(search: Search, pool: Sequence[Unit], name: str) -> Course[Unit | None]:
    """Return the unit with which a task begins to fail when more and more are left out; None where it passes after all.

    The groups with and without it are run again: one wrong step would keep a unit that is not needed.
    """
    passes, fails = [0], [len(pool)]
    while fails and passes:
        if fails[-1] - passes[-1] > 1:
            middle = (passes[-1] + fails[-1]) // 2
            if (yield from _fails(search, pool[:middle], name, _HALF)):
                fails.append(middle)
            else:
                passes.append(middle)
        elif not (yield from _fails(search, pool[: fails[-1]], name, _SURE)):
            passes.append(fails.pop())
        elif passes[-1] and (yield from _fails(search, pool[: passes[-1]], name, _SURE)):
            fails.append(passes.pop())
        else:
            return pool[fails[-1] - 1]
    return None


def _fails(search: Search, out: Sequence[Unit], name: str, bounds: tuple[float, float, float]) -> Course[bool]:
    """Return whether a task fails without some units, run after run until that is clear."""
    skill, rates = search.build(out), search.evidence.rates
    begin, cleared, enough = bounds
    asked = search.questions.setdefault((skill.digest, name), _Question(begin))
    while cleared < asked.evidence < enough and len(asked.passed) < _MOST_RUNS:
        (seen,) = yield from search.evidence.run_all([(skill, name)])
        if seen is None:
            search.unmeasured.add(name)
            return True
        asked.passed.append(not seen.symptoms)
        asked.evidence += rates.against if seen.symptoms else -rates.for_it
    fails = asked.evidence > 0
    for one in asked.passed:
        if fails:
            rates.rerun(gone=one)
        else:
            rates.answer(held=one)
    return fails
