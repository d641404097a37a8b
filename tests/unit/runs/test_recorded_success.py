"""What is recorded of tasks, and which trainings a model had a part in."""

from contextlib import closing
from pathlib import Path

from skillopt.rollouts import Rollout, Score, Status, Trajectory
from skillopt.runs.recorded import recorded_rates, training_runs_of
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from tests.fakes.projects import FAST, make_project, skillopt


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
