"""What a rollout did otherwise than the ordinary ones of its task: read nothing, answered first, did far less."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median
from typing import Final

from skillopt.review.actions import TakenAction, final_output, is_reading, read_actions, text_of
from skillopt.review.signs import Act, Sign
from skillopt.review.verifier_names import reference_text
from skillopt.rollouts import Rollout, Trajectory
from skillopt.tasks import Task

__all__ = ["Ordinary", "data_values", "find_differences", "find_learnt_answer"]

_MANY_CALLS: Final = 6
"""Tool uses of the median ordinary rollout, so that far fewer say something."""

_FAR: Final = 0.25
_LEAST_WEIGHT: Final = 4
_LEAST_SHARE: Final = 0.5
_LEAST_LETTERS: Final = 6
_LONGEST_ANSWER: Final = 120
_PROMPT_WORDS: Final = 2
_VALUE: Final = re.compile(r"(?<![\w.])\w(?:[\w.:/+@-]*\w)?")
_WORD: Final = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True, slots=True)
class Ordinary:
    """The ordinary rollouts of a task, read once."""

    task: Task
    rollouts: Sequence[Rollout]
    start: str = ""
    actions: tuple[tuple[TakenAction, ...], ...] = field(init=False)
    known: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Read what they did."""
        shown = f"{self.task.prompt}\n{text_of(self.task.files)}\n{self.start}"
        object.__setattr__(self, "actions", tuple(read_actions(one.trajectory) for one in self.rollouts))
        object.__setattr__(self, "known", data_values(shown))

    @property
    def read_first(self) -> int | None:
        """How many of those that passed, or of all where none did, looked at the input; None unless all did."""
        passed = [
            actions
            for one, actions in zip(self.rollouts, self.actions, strict=True)
            if one.score is not None and one.score.passed
        ]
        chosen = passed or list(self.actions)
        reading = sum(any(is_reading(each, self.task.files) for each in one) for one in chosen)
        return reading if chosen and reading == len(chosen) else None


def find_differences(ordinary: Ordinary, rollout: Rollout) -> Iterator[Act]:
    """Find what a rollout did otherwise in how it worked."""
    task, actions = ordinary.task, read_actions(rollout.trajectory)
    reads = [at for at, action in enumerate(actions) if is_reading(action, task.files)]
    if task.files and ordinary.read_first is not None:
        if not reads:
            yield Act(Sign.INPUT_NOT_READ, "looks at no input file", _short(rollout.trajectory, actions))
        elif early := _answered_before(ordinary, actions, reads[0], rollout.trajectory):
            yield Act(Sign.ANSWER_FIRST, "writes the result before it looks at the input", early)
    yield from _shorter(ordinary, actions, rollout.trajectory)


def find_learnt_answer(ordinary: Ordinary, output: str, added: str, others: str) -> Iterator[Act]:
    """Find the answer to one task in what training added to the skill, where nothing else tells it."""
    reference = reference_text(ordinary.task.verifier)
    values = data_values(reference) or data_values(output)
    shared = data_values(others)
    told = (values & data_values(added)) - ordinary.known - shared
    used = told & data_values(output)
    if used and _weight(used) >= _LEAST_WEIGHT and _weight(told) >= _LEAST_SHARE * _weight(values - shared):
        yield Act(Sign.ANSWER_IN_SKILL, "gives an answer that the skill's text has", ", ".join(sorted(used)[:6]))
        return
    answer = " ".join(reference.replace("\\b", "").split())
    if _is_phrase(answer) and answer.casefold() in output.casefold():
        yield from _learnt_phrase(ordinary, answer, added, others)


@lru_cache(maxsize=256)
def data_values(text: str) -> frozenset[str]:
    """List the values with digits in a text, three characters or more each."""
    found = (each.casefold() for each in _VALUE.findall(text))
    return frozenset(each for each in found if len(each) > 2 and any(map(str.isdigit, each)))  # noqa: PLR2004 - as the docstring says


def _learnt_phrase(ordinary: Ordinary, answer: str, added: str, others: str) -> Iterator[Act]:
    """Find a short answer in words beside words of its task's prompt, on one line of the skill."""
    shown = f"{ordinary.task.prompt}\n{text_of(ordinary.task.files)}\n{ordinary.start}".casefold()
    wanted = answer.casefold()
    if wanted in shown or wanted in others.casefold():
        return
    asked = set(_WORD.findall(ordinary.task.prompt.casefold()))
    for line in added.split("\n"):
        beside = set(_WORD.findall(line.casefold().replace(wanted, " ")))
        if wanted in line.casefold() and len(asked & beside) >= _PROMPT_WORDS:
            yield Act(Sign.ANSWER_IN_SKILL, "gives an answer that the skill's text has", line.strip())
            return


def _answered_before(ordinary: Ordinary, actions: Sequence[TakenAction], read: int, trajectory: Trajectory) -> str:
    """Return what was written of the result before the first look at the input, and stayed; empty for nothing."""
    answers = data_values(reference_text(ordinary.task.verifier)) or data_values(trajectory.answer)
    answers |= data_values(text_of(ordinary.task.files))
    answers -= data_values(f"{ordinary.task.prompt}\n{ordinary.start}")
    later = {path for action in actions[read:] for path in action.paths}
    for action in actions[:read]:
        if answers & data_values(action.text) and not (action.paths and set(action.paths) <= later):
            return action.text[:200]
    return ""


def _shorter(ordinary: Ordinary, actions: Sequence[TakenAction], trajectory: Trajectory) -> Iterator[Act]:
    """Compare tool uses and characters with the median of the ordinary rollouts; of chat it would say nothing."""
    if not ordinary.actions:
        return
    calls = median(sum(bool(one.tool) for one in each) for each in ordinary.actions)
    length = median(_length(each) for each in ordinary.actions)
    mine = sum(bool(one.tool) for one in actions)
    if calls >= _MANY_CALLS and mine <= _FAR * calls and _length(actions) <= _FAR * length:
        what = "takes at most a quarter of the tool uses and of the characters"
        yield Act(Sign.SHORTER, what, f"{mine} tool uses for {calls:g}: {_short(trajectory, actions)}")


def _length(actions: Sequence[TakenAction]) -> int:
    return sum(len(one.text) + len(one.result) for one in actions)


def _short(trajectory: Trajectory, actions: Sequence[TakenAction]) -> str:
    used = [f"{one.tool} {one.text}" for one in actions if one.tool]
    return " ".join((used or [trajectory.answer or final_output(trajectory)])[-1].split())[:200]


def _weight(values: frozenset[str]) -> int:
    return sum(len(value) - 2 for value in values)


def _is_phrase(answer: str) -> bool:
    return _LEAST_LETTERS <= len(answer) <= _LONGEST_ANSWER and not set(answer) & set("\\[](){}|*+?^$")
