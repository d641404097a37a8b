"""Symptoms: what the feedback of a failed rollout says is wrong, so that progress can be told from standing still.

A rollout that passed has none. What a judge writes freely is none either: there only the score tells.
"""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.rollouts import JUDGED_LINE, Rollout, Score
from skillopt.tasks import JUDGED_KINDS, Task

__all__ = ["symptoms_of"]

_MOST_LINES: Final = 40
_LONGEST: Final = 200
_LONGEST_FOUND: Final = 40
"""Characters of what was found instead that still name a failure; longer ones are the target's own words."""

_LEVELS: Final = 10
_FOUND = re.compile(r"\b(?:found|got|but was|actual(?:ly)?)\b:?")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d.,:]*(?![\w])")
_VOLATILE = re.compile(r"0x[0-9a-f]+|\b\d+(?:\.\d+)? ?m?s\b|/\S*/")


def symptoms_of(task: Task, rollout: Rollout) -> frozenset[str]:
    """Return what is wrong, one string each, the same for the same failure of another rollout.

    A line of feedback is a symptom without what changes from run to run: addresses, durations, folders, and numbers
    or long text that the target produced. Where a model judges, if only in part, or nothing is said, the tenths of the
    score that are missing are symptoms too.

    >>> from skillopt.rollouts import Status, Trajectory
    >>> from skillopt.tasks import VerifierSpec
    >>> task = Task("t", "Add.", VerifierSpec("json", "{}"))
    >>> def failed(text): return Rollout("t", "", 0, Trajectory(), Status.OK, Score(0.0, False, text))
    >>> sorted(symptoms_of(task, failed("$.sum: expected 2, found 3")))
    ['$.sum: expected 2, found #']
    """
    score = rollout.score
    if score is None or score.passed:
        return frozenset()
    if task.verifier.kind in JUDGED_KINDS:
        return frozenset(_missing(score))
    lines = frozenset(_lines(score.feedback))
    return lines | frozenset(_missing(score)) if task.verifier.judged or not lines else lines


def _lines(feedback: str) -> Iterator[str]:
    written = (line for line in feedback.splitlines()[:_MOST_LINES] if not line.startswith(JUDGED_LINE))
    for line in written:
        plain = " ".join(_VOLATILE.sub("#", line.casefold()).split())
        if plain:
            yield _without_values(plain)[:_LONGEST]


def _without_values(line: str) -> str:
    """Leave out what the target produced, where a line says what was found."""
    marks = list(_FOUND.finditer(line))
    if not marks:
        return line
    head, tail = line[: marks[-1].end()], line[marks[-1].end() :]
    return head + _NUMBER.sub("#", tail) if len(tail) <= _LONGEST_FOUND else head


def _missing(score: Score) -> Iterator[str]:
    """Name the tenths of the score that are missing; a rollout that did not pass lacks at least one."""
    reached = min(int(score.value * _LEVELS + 1e-9), _LEVELS - 1)
    yield from (f"score below {level / _LEVELS:g}" for level in range(reached + 1, _LEVELS + 1))
