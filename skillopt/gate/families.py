"""Families of tasks: near copies but for their values share a template, fail together, and are one unit of a test."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

from skillopt.tasks import Task

_RUN: Final = 4  # words of a run: two prompts share shorter ones by chance
ALIKE: Final = 0.8
"""Share of runs of words in common from which two texts are near copies."""

_LEAST_RUNS: Final = 8
"""Texts with fewer runs of words are too short to compare."""

_WORD: Final = re.compile(r"[^\W_]+")
_VALUE: Final = re.compile(r"\d[\d.,:/-]*\d|\d|\"[^\"\n]*\"|`[^`\n]*`|\u201c[^\u201d\n]*\u201d")

_Runs = frozenset[tuple[str, ...]]


def find_families(tasks: Sequence[Task]) -> Mapping[str, str]:
    """Return the family of each task by its id: the one that it names, else the first of its near copies.

    A task of the family `none` stands alone. A template of more than half of the tasks is no family but the job itself.
    """
    found = {task.id: f"family {task.family}" for task in tasks if task.family not in ("", "none")}
    found |= {task.id: task.id for task in tasks if task.id not in found}
    free = [task for task in tasks if not task.family]
    prompts = {text: wording([_VALUE.sub("0", text)]) for text in {task.prompt for task in free}}
    for one, other in combinations(free, 2):
        apart = found[one.id] != found[other.id]
        if apart and likeness(prompts[one.prompt], prompts[other.prompt]) >= ALIKE and is_same_data(one, other):
            gone, kept = found[other.id], found[one.id]
            found |= {name: kept for name, family in found.items() if family == gone}
    sizes = Counter(found.values())
    return found | {task.id: task.id for task in free if 2 * sizes[found[task.id]] > len(tasks)}


def list_families(tasks: Sequence[Task]) -> list[tuple[str, ...]]:
    """List the ids of the tasks of each family that has several."""
    members: dict[str, list[str]] = {}
    for name, family in find_families(tasks).items():
        members.setdefault(family, []).append(name)
    return [tuple(names) for names in members.values() if len(names) > 1]


def is_same_data(one: Task, other: Task) -> bool:
    """Return whether the files of two tasks are near copies, those that both have left out."""
    first, second = ({file.text for file in task.files} for task in (one, other))
    own = [wording(some) for some in (first - second, second - first)]
    return not all(own) or likeness(*own) >= ALIKE


def wording(texts: Iterable[str], length: int = _RUN) -> _Runs:
    """Return the runs of words of texts."""
    found = set[tuple[str, ...]]()
    for text in texts:
        words = _WORD.findall(text.casefold())
        found.update(tuple(words[at : at + length]) for at in range(len(words) - length + 1))
    return frozenset(found)


def likeness(first: _Runs, second: _Runs) -> float:
    """Return the share of two wordings that is the same; 0 for those too short to compare."""
    return len(first & second) / len(first | second) if min(len(first), len(second)) >= _LEAST_RUNS else 0.0
