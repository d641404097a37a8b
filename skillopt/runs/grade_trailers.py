"""A grade as trailers of a commit, and read back from them, so that a clone without the ledger knows it."""

import re
from typing import Final

from skillopt.gate.grades import Grade, Grading
from skillopt.versions.commit_message import Version

__all__ = ["GRADE", "grade_of", "grade_trailers", "read_grading"]

GRADE: Final = "Grade"
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


def read_grading(version: Version) -> Grading | None:
    """Read a grade with its figures from a commit, None where it has none or people changed them."""
    interval = _INTERVAL.fullmatch(version.trailer("Interval"))
    try:
        return Grading(
            Grade(version.trailer(GRADE)),
            float(version.trailer("Probability")),
            float(version.trailer("Expected-Gain")),
            float(interval[1] if interval else "none"),
            float(interval[2] if interval else "none"),
            int(version.trailer("Tasks-Judged")),
            int(version.trailer("Tasks-Changed")),
            version.body.rpartition("\n\n")[2],
        )
    except ValueError:
        return None


def grade_of(version: Version) -> Grade | None:
    """Read the grade alone from a commit; None where it has none."""
    try:
        return Grade(version.trailer(GRADE))
    except ValueError:
        return None
