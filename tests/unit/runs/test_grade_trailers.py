"""A grade is read back from a commit as it was written."""

from dataclasses import replace

import pytest

from skillopt.gate.grade_words import grade_words
from skillopt.gate.grades import Grade
from skillopt.runs.version_message import grade_trailers, read_grading
from tests.fakes.drafts import grading


@pytest.mark.parametrize("increment", [True, False])
@pytest.mark.parametrize("grade", Grade)
def test_a_clone_says_the_same_of_a_grade_as_the_run_did(grade: Grade, *, increment: bool) -> None:
    given = replace(grading(grade), increment=increment, reason="")
    read = read_grading(grade_trailers(given))
    assert read == given
    assert grade_words(read).startswith(
        f"{grade} against the first version; what was added" if increment else f"{grade}:"
    )
