"""Tasks whose verifier looks wrong are always reported, and set aside only within a cap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.events import VerifierSuspected
from skillopt.loop.suspect_verifiers import SuspectVerifiers, measured_reason
from skillopt.prompts.failure_kinds import NamedFailure, TaskFailureKind
from skillopt.rollouts import Rollout, Score, Status, Trajectory


def rollout(task: str, answer: str = "42", document: int = 0, *, passed: bool = False, files: bool = False) -> Rollout:
    trajectory = Trajectory(answer=answer, files_changed=("out.csv",) if files else ())
    return Rollout(task, f"d{document}", 0, trajectory, Status.OK, Score(float(passed), passed))


def claims(*tasks: str, reason: str = "the answer is right") -> list[NamedFailure]:
    return [NamedFailure(task, TaskFailureKind.VERIFIER_SUSPECT, reason) for task in tasks]


def test_the_same_answer_that_passed_and_failed_is_a_reason() -> None:
    assert "passed once and failed once" in measured_reason([rollout("t"), rollout("t", passed=True)], 0.0)
    assert not measured_reason([rollout("t", "41"), rollout("t", "42", passed=True)], 0.0)


def test_work_in_files_cannot_be_compared_and_is_no_reason() -> None:
    assert not measured_reason([rollout("t", files=True), rollout("t", files=True, passed=True)], 1.0)


@pytest.mark.parametrize(
    ("rollouts", "rest", "suspect"),
    [
        ([rollout("t", document=at) for at in range(16)], 0.75, True),
        ([rollout("t", document=at) for at in range(16)], 0.7, False),
        ([rollout("t", document=at) for at in range(15)], 1.0, False),
        ([rollout("t", document=at % 11) for at in range(30)], 1.0, False),
        ([rollout("t", str(at), document=at) for at in range(20)], 1.0, False),
        ([*(rollout("t", document=at) for at in range(16)), rollout("t", "43", passed=True)], 1.0, False),
        ([rollout("t", "", document=at) for at in range(20)], 1.0, False),
    ],
    ids=["alike", "others fail too", "too few", "too few documents", "answers differ", "passed once", "no answer"],
)
def test_failing_alike_under_many_documents_is_a_reason_once_most_other_tasks_pass(
    rollouts: list[Rollout], rest: float, *, suspect: bool
) -> None:
    assert bool(measured_reason(rollouts, rest)) is suspect


def test_a_task_with_a_measured_reason_is_flagged_once_and_set_aside() -> None:
    suspects = SuspectVerifiers(10, 0.1)
    assert not list(suspects.add_rollouts(1, [rollout("t")]))
    (event,) = suspects.add_rollouts(2, [rollout("t", passed=True)])
    assert event == VerifierSuspected(2, "t", "the same answer passed once and failed once", "measured", set_aside=True)
    assert suspects.set_aside == {"t"}
    assert not list(suspects.add_rollouts(3, [rollout("t")]))


def test_a_task_that_only_fails_alike_is_flagged_and_still_trained_on_because_its_rule_may_be_found_yet() -> None:
    suspects = SuspectVerifiers(10, 1.0)
    others = [rollout(name, "43", passed=True) for name in "abcd"]
    alike = [rollout("t", document=at) for at in range(16)]
    (event,) = suspects.add_rollouts(1, [*others, *alike])
    assert (event.task, event.by, event.set_aside) == ("t", "measured", False)
    assert not suspects.set_aside


def test_a_claim_of_the_model_counts_only_for_a_task_that_was_run_and_failed() -> None:
    suspects = SuspectVerifiers(10, 1.0)
    list(suspects.add_rollouts(1, [rollout("failed"), rollout("passed", passed=True)]))
    found = list(suspects.add_claims(1, claims("failed", "passed", "made-up")))
    assert [(event.task, event.by, event.set_aside) for event in found] == [("failed", "model", True)]
    assert not list(suspects.add_claims(2, claims("failed")))


def test_other_kinds_of_failure_flag_nothing() -> None:
    suspects = SuspectVerifiers(10, 1.0)
    list(suspects.add_rollouts(1, [rollout("t")]))
    assert not list(suspects.add_claims(1, [NamedFailure("t", TaskFailureKind.FORMAT, "a comma")]))


def test_a_task_that_has_ever_passed_is_reported_on_a_claim_and_still_trained_on() -> None:
    suspects = SuspectVerifiers(10, 1.0)
    list(suspects.add_rollouts(1, [rollout("t", "41", passed=True)]))
    list(suspects.add_rollouts(2, [rollout("t", "42")]))
    (event,) = suspects.add_claims(2, claims("t"))
    assert not event.set_aside
    assert not suspects.set_aside


@given(st.integers(1, 30), st.floats(0, 1), st.integers(0, 40))
def test_a_model_that_suspects_everything_silences_no_more_than_the_cap_and_each_claim_is_reported(
    train: int, share: float, claimed: int
) -> None:
    suspects = SuspectVerifiers(train, share)
    names = [f"t{number}" for number in range(min(claimed, train))]
    list(suspects.add_rollouts(1, [rollout(name) for name in names]))
    assert [event.task for event in suspects.add_claims(1, claims(*names))] == names
    assert len(suspects.set_aside) == min(len(names), int(train * share))


def test_a_reason_is_shown_on_one_line_without_control_characters_and_cut() -> None:
    suspects = SuspectVerifiers(10, 1.0)
    list(suspects.add_rollouts(1, [rollout("a"), rollout("b")]))
    long, empty = suspects.add_claims(
        1, [*claims("a", reason="it\nis \x1b[31mred " + "x" * 500), *claims("b", reason=" ")]
    )
    assert long.reason.startswith("it is [31mred xxx")
    assert len(long.reason) == 200
    assert empty.reason == "no reason given"
