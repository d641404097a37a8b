"""Words for grades, and the score to expect of what was chosen for its score."""

from typing import Final

from skillopt.gate.grades import Grade, Grading
from skillopt.gate.headline import metric_label
from skillopt.safety.plurals import count_noun

__all__ = ["GRADE_MEANINGS", "UNGRADED", "expectation", "grade_name", "grade_words"]

GRADE_MEANINGS: Final = {
    Grade.PROVEN: "better on new tasks like these",
    Grade.PROVEN_HERE: "better on these very tasks, which says less about new ones",
    Grade.UNPROVEN: "not shown to be better; how likely it is stands beside it",
    Grade.WORSE: "worse as far as it was measured",
}

_AGAINST_FIRST: Final = " against the first version"

UNGRADED: Final = "unproven: its run ended before it was graded"
"""Of a draft whose run was interrupted; the run that goes on grades it."""


def grade_name(grading: Grading) -> str:
    """Say a grade without its figures, and of which comparison it is where that is not the last one.

    >>> grade_name(Grading(Grade.PROVEN, 0.62, 0.01, -0.02, 0.04, 12, 1, "", increment=True))
    'proven against the first version'
    """
    return f"{grading.grade}{_AGAINST_FIRST if grading.increment else ''}"


def grade_words(grading: Grading | None) -> str:
    """Say a grade with gain, 90% interval, probability and number of tasks; None is a draft that was not graded.

    >>> grade_words(Grading(Grade.UNPROVEN, 0.91, 0.18, -0.06, 0.36, 12, 4, ""))
    'unproven: +0.18 (-0.06 to +0.36), 91% likely better, on 12 tasks'
    """
    if grading is None:
        return UNGRADED
    likely = f"{grading.probability:.0%} likely better"
    if not grading.tasks:
        return f"{grading.grade}: {likely} by what its training saw; no other task was run for it"
    tasks = count_noun(grading.tasks, "task")
    changed = f", {grading.changed} of which changed" if grading.grade is Grade.PROVEN_HERE else ""
    gain = f"{grading.gain:+.2f} ({grading.low:+.2f} to {grading.high:+.2f})"
    added = "; what was added since is not lower" if grading.increment else ""
    return f"{grade_name(grading)}{added}: {gain}, {likely}, on {tasks}{changed}"


def expectation(measured: float | None, expected: float | None, metric: str = "") -> str:
    """Say the score to expect; empty where it is not known, or is the measured one.

    >>> expectation(0.8, 0.688), expectation(0.8, 0.79999), expectation(0.8, None, "mixed")
    ('expect a score of 0.688', '', '')
    """
    if measured is None or expected is None or round(expected, 3) >= round(measured, 3):
        return ""
    return f"expect a {metric_label(metric)} of {expected:.3f}"
