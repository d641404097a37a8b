"""What recorded runs say of tasks, criteria and targets."""

from collections.abc import Sequence

import pytest

from skillopt.rollouts import Judgement, Rollout, Score, Status, Trajectory
from skillopt.runs.recorded import TaskStanding, count_outcomes, marks_of_criteria
from skillopt.tasks import Split, Suite, Task, VerifierSpec

SUITE = Suite("s", ((Split.VAL, Task("t", "Do it.", VerifierSpec("exact"))),))


def run(passed: bool, *, text: str = "a", judgement: Judgement | None = None) -> Rollout:  # noqa: FBT001 - the one thing that matters
    score = Score(float(passed), passed, judgement=judgement)
    return Rollout("t", text, 0, Trajectory(), Status.OK, score)


@pytest.mark.parametrize(
    ("outcomes", "standing"),
    [
        *(("", TaskStanding.UNKNOWN), ("a1 a1", TaskStanding.UNKNOWN), ("a1 a1 b1", TaskStanding.ALWAYS)),
        *(("a0 a0 a0", TaskStanding.FAILS), ("a0 a0 b0", TaskStanding.NEVER), ("a0 b1", TaskStanding.MIXED)),
        ("a0 a1 b1", TaskStanding.FLAKY),
    ],
)
def test_a_task_stands_by_how_it_went_under_one_text_and_under_several(outcomes: str, standing: TaskStanding) -> None:
    rollouts = [run(one[1] == "1", text=one[0]) for one in outcomes.split()]
    (found,) = count_outcomes(SUITE, {"t": rollouts})
    assert found.standing is standing
    assert (found.runs, found.passed) == (len(rollouts), outcomes.count("1"))


def judged(shown: str, *readings: str, addressed: str = "") -> Rollout:
    return run(passed=False, judgement=Judgement(("One.", "Two."), readings, shown, addressed=addressed))


def marks(rollouts: Sequence[Rollout]) -> list[tuple[float, float]]:
    return [(one.differs, one.cannot_tell) for one in marks_of_criteria({"t": rollouts})]


def test_readings_of_one_result_are_compared_and_results_are_averaged() -> None:
    assert marks([judged("x", "yy", "yn"), judged("y", "nn", "nn")]) == [(0.0, 0.0), (0.5, 0.0)]
