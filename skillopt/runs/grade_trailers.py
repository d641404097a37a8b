"""A grade as trailers of a commit, and read back from them, so that a clone without the ledger knows it."""

import re
from collections.abc import Sequence
from typing import Final

from skillopt.gate.grades import Grade, Grading
from skillopt.versions.commit_kind import GRADE

__all__ = ["Trailers", "grade_of", "grade_trailers", "read_grading"]

Trailers = Sequence[tuple[str, str]]
"""(key, value) pairs at the end of a commit's message."""

_INTERVAL: Final = re.compile(r"([+-]?\d\.\d+) to ([+-]?\d\.\d+)")


def grade_trailers(grading: Grading | None) -> tuple[tuple[str, str], ...]:
    """List the trailers of a grade; None is a draft whose run ended before it was graded."""
    if grading is None:
        return ((GRADE, Grade.UNPROVEN.value),)
    return (
        (GRADE, grading.grade.value),
        ("Probability", f"{grading.probability:.3f}"),
        ("Expected-Gain", f"{grading.gain:+.3f}"),
        ("Interval", f"{grading.low:+.3f} to {grading.high:+.3f}"),
        ("Tasks-Judged", str(grading.tasks)),
        ("Tasks-Changed", str(grading.changed)),
    )


def read_grading(trailers: Trailers) -> Grading | None:
    """Read a grade with its figures; None where a commit has none, or people changed them."""
    found = dict(trailers)
    interval = _INTERVAL.fullmatch(found.get("Interval", ""))
    grade = grade_of(trailers)
    if grade is None or interval is None:
        return None
    try:
        return Grading(
            grade,
            float(found["Probability"]),
            float(found["Expected-Gain"]),
            float(interval[1]),
            float(interval[2]),
            int(found["Tasks-Judged"]),
            int(found["Tasks-Changed"]),
            "",
        )
    except (KeyError, ValueError):
        return None


def grade_of(trailers: Trailers) -> Grade | None:
    """Read a grade without its figures; None where a commit has none."""
    try:
        return Grade(dict(trailers).get(GRADE, ""))
    except ValueError:
        return None
