"""Families of tasks: near copies but for their values share a template, fail together, and are one unit of a test."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

from skillopt.tasks import Task

_RUN: Final = 4
_ALIKE: Final = 0.8
"""Share of runs of words in common from which two texts are near copies."""

_LEAST_RUNS: Final = 8
"""Texts with fewer runs of words are too short to compare."""

_WORD: Final = re.compile(r"[^\W_]+")
_VALUE: Final = re.compile(r"\d[\d.,:/-]*\d|\d|\"[^\"\n]*\"|`[^`\n]*`|\u201c[^\u201d\n]*\u201d")

_Runs = frozenset[tuple[str, ...]]


def find_families(tasks: Sequence[Task]) -> Mapping[str, str]:
    """Return the family of each task by its id: the one that it names, else the first of its near copies.

    A task of the family `none` stands alone.
    """
    found = {task.id: f"family {task.family}" for task in tasks if task.family not in ("", "none")}
    found |= {task.id: task.id for task in tasks if task.id not in found}
    free = [task for task in tasks if not task.family]
    values = {text: wording([_VALUE.sub("0", text)]) for text in {task.prompt for task in free}}
    data = {task.id: wording(file.text for file in task.files) for task in free}
    for one, other in combinations(free, 2):
        if found[one.id] != found[other.id] and likeness(values[one.prompt], values[other.prompt]) >= _ALIKE:
            mine, theirs = data[one.id], data[other.id]
            if mine == theirs or likeness(mine, theirs) >= _ALIKE:
                gone, kept = found[other.id], found[one.id]
                found |= {name: kept for name, family in found.items() if family == gone}
    return found


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
