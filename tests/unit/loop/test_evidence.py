"""What feedback says is wrong: the same for the same failure, whatever changes from run to run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.evidence import PassRates, symptoms_of
from skillopt.rollouts import Rollout, Score, Status, Trajectory
from skillopt.tasks import Task, VerifierSpec


def symptoms(feedback: str, value: float = 0.0, *, passed: bool = False, kind: str = "command") -> set[str]:
    rollout = Rollout("t", "", 0, Trajectory(), Status.OK, Score(value, passed, feedback))
    return set(symptoms_of(Task("t", "Do it.", VerifierSpec(kind)), rollout))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("row 3: took 12 ms", "row 3: took 7.5 ms"), ("error at 0x7f3a in parse", "error at 0x11c0 in parse")),
        ("cannot open /tmp/ab12/out.csv", "cannot open /tmp/zz9/out.csv"),
        ("$.sum: expected 2, found 3", "$.sum: expected 2, found 17.5"),
        *(("expected 'a'; got " + "x" * 60, "expected 'a'; got " + "y" * 80), ("Missing   Header", "missing header")),
    ],
)
def test_what_changes_from_run_to_run_is_no_symptom(one: str, other: str) -> None:
    assert symptoms(one) == symptoms(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("criterion 2 failed", "criterion 3 failed"),
        ("exit code 1", "exit code 2"),
        ("expected 2, found 3", "expected 5, found 3"),
        ("found 'usd' in amount", "found 'eur' in amount"),
    ],
)
def test_what_names_another_failure_is_another_symptom(one: str, other: str) -> None:
    assert symptoms(one) != symptoms(other)


def test_each_line_is_a_symptom_of_its_own() -> None:
    assert symptoms("missing alpha\n\nmissing beta") == {"missing alpha", "missing beta"}


def test_what_a_judge_writes_freely_is_none_and_its_score_tells() -> None:
    first, second = symptoms("It is rude.", 0.35, kind="rubric"), symptoms("Too curt for me.", 0.35, kind="rubric")
    assert first == second
    assert symptoms("Better.", 0.65, kind="rubric") < first


@given(st.floats(0, 1), st.floats(0, 1))
def test_without_feedback_a_higher_score_never_has_more_symptoms(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert symptoms("", high) <= symptoms("", low)


counts = st.integers(0, 60)


def measured(gone: int, stayed: int, held: int = 0, broke: int = 0) -> PassRates:
    """Return rates after so many reruns of each kind."""
    rates = PassRates()
    for outcome, times in ((True, gone), (False, stayed)):
        for _ in range(times):
            rates.rerun(gone=outcome)
    for outcome, times in ((True, held), (False, broke)):
        for _ in range(times):
            rates.answer(held=outcome)
    return rates


@given(counts, counts, counts, counts)
def test_whatever_was_seen_a_pass_speaks_for_a_line_and_a_failure_against_it(
    gone: int, stayed: int, held: int, broke: int
) -> None:
    rates = measured(gone, stayed, held, broke)
    assert 0 < rates.without < rates.answering < 1
    assert rates.for_it > 0
    assert rates.against > 0
    assert 1 <= rates.repeats <= 5


@given(counts, counts, st.integers(0, 30), counts)
def test_the_more_failures_pass_by_themselves_the_less_a_pass_tells(
    gone: int, stayed: int, more: int, held: int
) -> None:
    rates, luckier = measured(gone, stayed, held), measured(gone + more, stayed, held)
    assert luckier.without >= rates.without
    assert luckier.for_it <= rates.for_it + 1e-9
