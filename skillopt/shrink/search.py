"""Search for the units that tasks need: task by task, a group of units is left out and halved where the task fails.

A rollout is a pair of text and task, so each task asks for its own halving. A unit that one task needs stays for all,
so most tasks take one rollout that leaves out all the rest. Groups are prefixes of one order, the units that cost most
and say least of the task first: of two units that say the same, the later one stays. Whether a group can go is a
sequential probability ratio test with the loop's rates of passing (skillopt.loop.evidence).
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final, TypeAlias, TypeVar

from skillopt.loop.caps import BudgetReached
from skillopt.loop.evidence import PassRates, Seen, TrainEvidence
from skillopt.rollouts import Rollout
from skillopt.shrink.units import Unit, plain_words
from skillopt.skills.document import Skill
from skillopt.tasks import Task

ENOUGH: Final = 2.0
"""Evidence at which something is known; 1 in 8 to be wrong at even odds."""

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

_CLEARLY: Final = 2
"""Failures more than passes under the old text, from which on a task that seems to need a unit tells nothing."""


T = TypeVar("T")
_Wanted: TypeAlias = Sequence[tuple[Skill, str]]
Searching: TypeAlias = Generator[_Wanted, Sequence[Rollout | None], T]
"""A search that waits for rollouts of tasks, each under a text of its own, so that several share a batch."""


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
    """Tasks that tell nothing: they mostly fail under the old text."""
    unmeasured: set[str] = field(default_factory=set)
    questions: dict[tuple[str, str], _Question] = field(default_factory=dict)
    passed: dict[str, list[bool]] = field(default_factory=dict)
    """For each run of a task under the old text, whether nothing was wrong."""
    partial: bool = False
    """Whether some score was neither 0 nor 1."""

    @property
    def idle(self) -> list[Unit]:
        """List the units that no task is known to need."""
        return [unit for unit in self.units if unit not in self.needed]

    def forget(self, name: str) -> None:
        """Take back what a task seems to need, because it tells nothing."""
        self.failing.append(name)
        for unit, names in list(self.needed.items()):
            self.needed[unit] = [one for one in names if one != name]
            if not self.needed[unit]:
                del self.needed[unit]

    def ordered(self, task: Task) -> list[Unit]:
        """Order the idle units for a task: what shares least words with it first, and then what costs most."""
        own = plain_words("\n".join((task.prompt, *(file.path for file in task.files))))
        shared = {unit: len(plain_words(unit.text) & own) for unit in self.idle}
        return sorted(shared, key=lambda unit: (shared[unit], -unit.tokens, unit.start))


def search_together(search: Search, searches: Sequence[Searching[None]]) -> None:
    """Advance searches side by side; a cap that one of them reaches is raised when the others have ended."""
    waits: dict[Searching[None], _Wanted] = {}
    reached: list[BudgetReached] = []

    def advance(one: Searching[None], go_on: Callable[[], _Wanted]) -> None:
        try:
            waits[one] = go_on()
        except StopIteration:
            waits.pop(one, None)

    for one in searches:
        advance(one, partial(next, one))
    while waits:
        for one, answer in zip(list(waits), _measure(search, list(waits.values())), strict=True):
            if isinstance(answer, BudgetReached):
                del waits[one]
                reached.append(answer)
            else:
                advance(one, partial(one.send, answer))
    if reached:
        raise reached[0]


def _measure(search: Search, asked: Sequence[_Wanted]) -> list[list[Rollout | None] | BudgetReached]:
    """Run what several searches wait for in one batch, or one by one where the batch passes a cap."""
    evidence = search.evidence
    try:
        found = iter(evidence.measure([(skill, evidence.tasks[name]) for wanted in asked for skill, name in wanted]))
    except BudgetReached as error:
        return [error] if len(asked) == 1 else [answer for one in asked for answer in _measure(search, [one])]
    return [list(islice(found, len(wanted))) for wanted in asked]


def _run(search: Search, wanted: _Wanted) -> Searching[list[Seen | None]]:
    rollouts = yield wanted
    return search.evidence.note_all(wanted, rollouts)


def measure_start(search: Search) -> None:
    """Run the old text on every task, and again where it fails, to know which tasks tell nothing."""
    names = list(search.evidence.tasks)
    for _ in range(_STARTS):
        found = search.evidence.run(search.evidence.draft.skill, names)
        search.unmeasured.update(name for name in names if name not in found)
        scores = (seen.rollout.score for seen in found.values())
        search.partial = search.partial or any(score is not None and score.value % 1 > 0 for score in scores)
        for name, seen in found.items():
            search.passed.setdefault(name, []).append(not seen.symptoms)
        names = [name for name in found if not all(runs := search.passed[name]) and 2 * sum(runs) <= _STARTS]
        if not any(map(any, search.passed.values())):
            break  # nothing passes, so nothing can be seen to be lost
    search.evidence.rates = PassRates()  # a task that passes when it runs again was answered all along
    for name, runs in search.passed.items():
        if 2 * sum(runs) <= len(runs):
            search.failing.append(name)
            continue
        for held in runs:
            search.evidence.rates.answer(held=held)


def find_needed(search: Search, name: str) -> Searching[None]:
    """Find the units that one task needs, one after the other, until it passes without all the rest."""
    pool = search.ordered(search.evidence.tasks[name])
    while pool := [unit for unit in pool if unit not in search.needed]:
        if not (yield from _fails(search, pool, name, _ROOT)):
            return
        unit = yield from _first_needed(search, pool, name)
        if unit is None:
            return
        search.needed.setdefault(unit, []).append(name)
        if (yield from _fails_anyway(search, name)):
            search.forget(name)
            return


def _fails_anyway(search: Search, name: str) -> Searching[bool]:
    """Run the old text again on a task that seems to need a unit; return whether it mostly fails under that, too.

    A task that passes now and then passed at the start by chance, and would seem to need every unit.
    """
    passed = search.passed[name]
    while True:
        (seen,) = yield from _run(search, [(search.evidence.draft.skill, name)])
        if seen is None:
            return False
        passed.append(not seen.symptoms)
        lead = len(passed) - 2 * sum(passed)
        if lead < 0 or lead >= _CLEARLY:
            return lead > 0


def confirm(search: Search, unit: Unit) -> Searching[None]:
    """Leave one unit more out of the short text, on the task that it was found by; where that passes it is not needed.

    That is for units that alone speak for their section: one that is found by mistake would make the others go.
    """
    rest = [other for other in search.units if other not in search.needed or other is unit]
    if not (yield from _fails(search, rest, search.needed[unit][0], _SURE)):
        del search.needed[unit]


def _first_needed(search: Search, pool: Sequence[Unit], name: str) -> Searching[Unit | None]:
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


def _fails(search: Search, out: Sequence[Unit], name: str, bounds: tuple[float, float, float]) -> Searching[bool]:
    """Return whether a task fails without some units, run after run until that is clear."""
    skill, rates = search.build(out), search.evidence.rates
    begin, cleared, enough = bounds
    asked = search.questions.setdefault((skill.digest, name), _Question(begin))
    while cleared < asked.evidence < enough and len(asked.passed) < _MOST_RUNS:
        (seen,) = yield from _run(search, [(skill, name)])
        if seen is None:
            search.unmeasured.add(name)
            return True
        held = not seen.symptoms
        asked.passed.append(held)
        asked.evidence += -rates.for_it if held else rates.against
    fails = asked.evidence > 0
    for one in asked.passed:
        if fails:
            rates.rerun(gone=one)
        else:
            rates.answer(held=one)
    return fails
