"""Find leaks between the splits of a suite: tasks that are nearly the same, and answers that stand in prompts."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from skillopt.gate.families import ALIKE, is_same_data, likeness, wording
from skillopt.tasks import JUDGED_KINDS, Suite, Task

_QUOTE: Final = 8
"""Words of an answer in a row that make a quote."""


@dataclass(frozen=True, slots=True)
class SplitLeak:
    """Two tasks of different splits, of which one tells of the other."""

    task: str
    other: str
    parts: tuple[str, str]
    reason: str


def find_split_leaks(suite: Suite) -> tuple[SplitLeak, ...]:
    """Compare every two tasks of different splits, and every answer with the prompts."""
    placed = [(split.value, task.with_image_files) for split, task in suite.splits]
    return (*_twins(placed), *_told(placed))


def _twins(placed: Sequence[tuple[str, Task]]) -> Iterator[SplitLeak]:
    """Find tasks whose prompts are alike, and whose files are too, but for those that both have."""
    wordings = {text: wording([text]) for text in {task.prompt for _, task in placed}}
    for (part, one), (other_part, other) in combinations(placed, 2):
        same = one.prompt == other.prompt
        alike = 0.0 if part == other_part else 1.0 if same else likeness(wordings[one.prompt], wordings[other.prompt])
        if alike >= ALIKE and is_same_data(one, other):
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
