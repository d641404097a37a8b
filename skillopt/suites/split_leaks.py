"""Find leaks between the splits of a suite: tasks that are nearly the same, and answers that stand in prompts."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from skillopt.tasks import JUDGED_KINDS, Suite, Task

_ALIKE: Final = 0.8
"""Share of runs of words in common from which two tasks are nearly the same."""

_LEAST_RUNS: Final = 8
"""Tasks with fewer runs of words are too short to compare."""

_QUOTE: Final = 8
"""Words of an answer in a row that make a quote."""

_WORD: Final = re.compile(r"[^\W_]+")

_Run = tuple[str, ...]


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
        yield (f"fold {folds[task.id]}" if task.id in folds else split.value), task.with_image_files


def likeness(first: set[_Run], second: set[_Run]) -> float:
    """Return the share of two wordings that is the same; 0 for those too short to compare."""
    return len(first & second) / len(first | second) if min(len(first), len(second)) >= _LEAST_RUNS else 0.0


def _twins(placed: Sequence[tuple[str, Task]]) -> Iterator[SplitLeak]:
    """Find tasks whose prompts are alike, and whose files are too, but for those that both have."""
    texts = {text for _, task in placed for text in (task.prompt, *(file.text for file in task.files))}
    wordings = {text: wording([text]) for text in texts}
    for (part, one), (other_part, other) in combinations(placed, 2):
        if part == other_part:
            continue
        alike = 1.0 if one.prompt == other.prompt else likeness(wordings[one.prompt], wordings[other.prompt])
        if alike < _ALIKE:
            continue
        first, second = ({file.text for file in task.files} for task in (one, other))
        data = [set[_Run]().union(*(wordings[text] for text in own)) for own in (first - second, second - first)]
        if not all(data) or likeness(*data) >= _ALIKE:
            reason = f"{alike:.0%} of the wording of their prompts is the same"
            yield SplitLeak(one.id, other.id, (part, other_part), reason)


def _told(placed: Sequence[tuple[str, Task]]) -> Iterator[SplitLeak]:
    """Find long answers in the prompt or the files of their own task, or of one of another split.

    Files that several tasks have are their material, from which an answer may quote.
    """
    uses = Counter(text for _, task in placed for text in {file.text for file in task.files})
    own, shown = {}, {}
    for _, task in placed:
        texts = [file.text for file in task.files]
        own[task.id] = wording([task.prompt, *(text for text in texts if uses[text] == 1)], _QUOTE)
        shown[task.id] = own[task.id] | wording((text for text in texts if uses[text] > 1), _QUOTE)
    for part, task in placed:
        answer = wording(_answers(task), _QUOTE)
        if answer & own[task.id]:
            reason = f"{_QUOTE} words or more of the answer stand in its own prompt or its files"
            yield SplitLeak(task.id, task.id, (part, part), reason)
        for other_part, other in placed:
            if other_part != part and answer & shown[other.id] and not answer & shown[task.id]:
                reason = f"{_QUOTE} words or more of the answer stand in the prompt or its files"
                yield SplitLeak(other.id, task.id, (other_part, part), reason)


def _answers(task: Task) -> Iterator[str]:
    """Return the reference answers of a task; criteria, which describe and do not answer, are none."""
    for spec in task.verifier.parts:
        options = json.loads(spec.options)
        if spec.kind in JUDGED_KINDS:
            yield str(options.get("reference", ""))
        elif spec.kind == "exact":
            yield from (str(value) for value in options.values() if isinstance(value, str))


def wording(texts: Iterable[str], length: int = 4) -> set[_Run]:
    """Return the runs of words of texts."""
    found = set[_Run]()
    for text in texts:
        words = _WORD.findall(text.casefold())
        found.update(tuple(words[at : at + length]) for at in range(len(words) - length + 1))
    return found
