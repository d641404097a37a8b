"""What recorded runs say of tasks, criteria and targets."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.rollouts import Judgement, Rollout, Score, Status, Trajectory
from skillopt.runs.recorded import TaskStanding, count_outcomes, marks_of_criteria, recorded_rates, training_runs_of
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from tests.fakes.projects import FAST, make_project, skillopt

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


def test_rates_count_all_repeats_of_the_text_and_leave_out_other_texts_targets_and_tasks(tmp_path: Path) -> None:
    suite = Suite("s", tuple((Split.VAL, Task(name, name, VerifierSpec("exact"))) for name in "ab"))
    made = [("a", "text", 0, True), ("a", "text", 1, False), ("a", "other", 0, True), ("gone", "text", 0, True)]
    with closing(Ledger.open(tmp_path)) as ledger:
        for task, skill, repeat, passed in made:
            score = Score(float(passed), passed)
            rollout = Rollout(task, skill, repeat, Trajectory(), Status.OK, score)
            ledger.store_rollouts("run", [(f"{task}{skill}{repeat}", rollout)], "target")
        assert recorded_rates(ledger, "text", "target", suite) == {"a": (1, 2)}
        assert recorded_rates(ledger, "text", "another", suite) == {}


def test_a_training_is_of_the_model_that_proposed_its_edits(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    assert skillopt(project, "optimize", "rows", *FAST).returncode == 0
    with closing(Ledger.open(project, read_only=True)) as ledger:
        assert len(training_runs_of(ledger, "optimizer", "demo-1 seed=0")) == 1
        assert training_runs_of(ledger, "judge", "demo-1 seed=0") == []
        assert training_runs_of(ledger, "optimizer", "somebody") == []
