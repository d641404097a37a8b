"""Lines that do harm to tasks of others: which tasks to run beside new lines, and which line is in the way of one.

A line is proposed for the tasks that it cites, and its harm shows on others: those of lines beside it, and those that
passed at the start. Such a task passes without the lines that are not its own, and fails with all of them; bisection
between the two finds a line that matters, however many there are.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.evidence import Seen, TrainEvidence

_SCREENED: Final = 6
_MORE_THAN_LUCK: Final = 0.35
"""Tasks that passed at the start and are run beside new lines, where they are more than this share."""


def screened(evidence: TrainEvidence) -> list[str]:
    """Draw tasks that passed at the start, where that was more than luck: something new may break them."""
    passed = [name for name, symptoms in evidence.start.items() if not symptoms]
    if len(passed) < _MORE_THAN_LUCK * len(evidence.start):
        return []
    return evidence.draw.sample(passed, min(_SCREENED, len(passed)))


def find_harm(
    evidence: TrainEvidence, base: Sequence[Line], beside: Mapping[str, Seen], known: Collection[str]
) -> Course[dict[Line, str]]:
    """Find lines beside which tasks fail that pass without them: those of other lines, and those that passed before."""
    harmful: dict[Line, str] = {}
    if evidence.rates.uninformative:
        return harmful
    failing = [name for name, seen in beside.items() if name in known and _own(base, name, seen)]
    while failing:
        left = [line for line in base if line not in harmful]
        pool = [line for line in left if failing[0] not in line.targets]
        found = yield from locate_harm(evidence, left, pool, failing[0])
        if found is not None:
            harmful[found] = failing[0]
            left.remove(found)
        else:
            failing = failing[1:]
        now = yield from evidence.run(evidence.draft.build(left), failing)
        failing = [name for name, seen in now.items() if _own(base, name, seen)]
    return harmful


def _own(base: Sequence[Line], name: str, seen: Seen) -> bool:
    """Return whether a task shows what some line of its own is to mend, or, where it has none, fails."""
    own = [line.targets[name] for line in base if name in line.targets]
    return bool(seen.symptoms & frozenset[str]().union(*own) if own else seen.symptoms)


def locate_harm(evidence: TrainEvidence, base: Sequence[Line], pool: Sequence[Line], name: str) -> Course[Line | None]:
    """Find one line beside which a task fails, by bisection: it takes log2 of the lines in rollouts.

    Args:
        evidence: What the task belongs to.
        base: The lines of the text under which the task fails.
        pool: Those of them that may be in the way; None is found where the task fails without all of them.
        name: The task.
    """
    passing, failing = 0, len(pool)

    def passes_with(count: int) -> Course[bool]:
        out = pool[count:]
        ran = yield from evidence.run(evidence.draft.build([line for line in base if line not in out]), [name])
        return name in ran and not _own(base, name, ran[name])

    if not pool or not (yield from passes_with(0)) or (yield from passes_with(len(pool))):
        return None
    while failing - passing > 1:
        middle = (passing + failing) // 2
        if (yield from passes_with(middle)):
            passing = middle
        else:
            failing = middle
    return pool[failing - 1]
