"""Tasks whose verifier looks wrong are reported once."""

from skillopt.loop.events import VerifierSuspected
from skillopt.loop.training_run import SuspectVerifiers
from skillopt.rollouts import Rollout, Score, Status, Trajectory


def rollout(task: str, answer: str = "42", *, passed: bool = False, files: bool = False) -> Rollout:
    trajectory = Trajectory(answer=answer, files_changed=("out.csv",) if files else ())
    return Rollout(task, "d0", 0, trajectory, Status.OK, Score(float(passed), passed))


def test_a_task_of_which_the_same_answer_passed_and_failed_is_flagged_once() -> None:
    suspects = SuspectVerifiers()
    assert not list(suspects.add_rollouts(1, [rollout("t"), rollout("t", "41", passed=True)]))
    (event,) = suspects.add_rollouts(2, [rollout("t", passed=True)])
    assert event == VerifierSuspected(2, "t", "the same answer passed once and failed once", "measured")
    assert not list(suspects.add_rollouts(3, [rollout("t")]))


def test_work_in_files_cannot_be_compared_and_is_no_reason() -> None:
    runs = [rollout("t", files=True), rollout("t", files=True, passed=True)]
    assert not list(SuspectVerifiers().add_rollouts(1, runs))


def test_a_models_word_counts_for_a_task_that_failed_when_it_ran_last_and_is_shown_on_one_line() -> None:
    suspects = SuspectVerifiers()
    list(suspects.add_rollouts(1, [rollout("fails"), rollout("passes", passed=True)]))
    claims = {"fails": "it\n\x1b[2J is right", "passes": "odd", "stranger": "odd"}
    assert [(one.task, one.by, one.reason) for one in suspects.add_claims(1, claims)] == [
        ("fails", "model", "it [2J is right")
    ]
    assert not list(suspects.add_claims(2, claims))
