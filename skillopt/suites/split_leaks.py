"""Find leaks between the splits of a suite: tasks that are nearly the same, and answers that stand in prompts."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from skillopt.tasks import JUDGED_KINDS, Suite, Task

__all__ = ["SplitLeak", "find_split_leaks", "likeness", "wording"]

_RUN: Final = 4
_ALIKE: Final = 0.8
"""Share of runs of words in common from which two tasks are nearly the same."""

_LEAST_RUNS: Final = 8
"""Tasks with fewer runs of words are too short to compare."""

_QUOTE: Final = 8
"""Words of an answer in a row that make a quote."""

_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class SplitLeak:
    """Two tasks of different splits, or folds, of which one tells of the other."""

    task: str
    other: str
    parts: tuple[str, str]
    reason: str


def find_split_leaks(suite: Suite) -> tuple[SplitLeak, ...]:
    """Compare every two tasks of different splits, or of different folds, and every answer with the prompts."""
    placed = list(_placed(suite))
    return (*_twins(placed), *_told(placed))


def _placed(suite: Suite) -> Iterator[tuple[str, Task]]:
    folds = {task.id: number for number, fold in enumerate(suite.folds or (), 1) for task in fold}
    for split, task in suite.splits:
        yield (f"fold {folds[task.id]}" if task.id in folds else split.value), task


def wording(task: Task) -> set[tuple[str, ...]]:
    """Return the runs of words that a task is shown with, its files included."""
    return _runs(_words(_shown(task)), _RUN)


def likeness(first: set[tuple[str, ...]], second: set[tuple[str, ...]]) -> float:
    """Return the share of two tasks' wordings that they have in common; 0 for those too short to compare."""
    return len(first & second) / len(first | second) if min(len(first), len(second)) >= _LEAST_RUNS else 0.0


def _twins(placed: Sequence[tuple[str, Task]]) -> Iterator[SplitLeak]:
    runs = {task.id: wording(task) for _, task in placed}
    for (part, one), (other_part, other) in combinations(placed, 2):
        first, second = runs[one.id], runs[other.id]
        if part == other_part:
            continue
        alike = likeness(first, second)
        if alike >= _ALIKE:
            reason = f"{alike:.0%} of their wording is the same"
            yield SplitLeak(one.id, other.id, (part, other_part), reason)


def _told(placed: Sequence[tuple[str, Task]]) -> Iterator[SplitLeak]:
    """Find long answers of one task in the prompt or the files of itself or of another split's."""
    shown = {task.id: _runs(_words(_shown(task)), _QUOTE) for _, task in placed}
    for part, task in placed:
        answer = set[tuple[str, ...]]().union(*(_runs(_words(text), _QUOTE) for text in _answers(task)))
        for other_part, other in placed:
            own = other.id == task.id
            if answer & shown[other.id] and (own or (other_part != part and not answer & shown[task.id])):
                where = "its own prompt" if own else "the prompt"
                reason = f"{_QUOTE} words or more of the answer stand in {where} or its files"
                yield SplitLeak(other.id, task.id, (other_part, part), reason)


def _shown(task: Task) -> str:
    return "\n".join((task.prompt, *(file.text for file in task.files)))


def _answers(task: Task) -> Iterator[str]:
    """Return the reference answers of a task; criteria, which describe and do not answer, are none."""
    for spec in task.verifier.parts:
        options = json.loads(spec.options)
        if spec.kind in JUDGED_KINDS:
            yield str(options.get("reference", ""))
        elif spec.kind == "exact":
            yield from (str(value) for value in options.values() if isinstance(value, str))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _runs(words: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}
