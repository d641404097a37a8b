"""Failures with equal feedback share one example, and all that fit stand in one prompt."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.prompts.failure_groups import PROMPT_TOKENS, group_failures, render_failures
from skillopt.rollouts import Message, Rollout, Score, Status, Trajectory
from skillopt.skills.document import estimate_tokens
from skillopt.tasks import Task, VerifierSpec


def failed(task: str, feedback: str, words: str = "Done.") -> tuple[Task, Rollout]:
    trajectory = Trajectory((Message("user", "do"), Message("assistant", words)))
    score = Score(0.0, passed=False, feedback=feedback)
    return Task(task, f"do {task}", VerifierSpec("exact")), Rollout(task, "d", 0, trajectory, Status.OK, score)


def ids(*failures: tuple[Task, Rollout]) -> list[tuple[str, ...]]:
    return [group.ids for group in group_failures(failures)]


def test_feedback_that_differs_in_values_spacing_and_order_of_lines_is_equal() -> None:
    one = 'row 3: expected "2024-03-05", found "05/03/2024"\nrow 4: expected "2024-01-02", found "02/01/2024"'
    same = 'Row 12:  expected "2023-11-30", found "30/11/2023"'
    other = 'row 3: expected "DE", found "Germany"'
    assert ids(failed("a", other), failed("b", one), failed("c", same)) == [("b", "c"), ("a",)]


def test_numbers_that_name_a_rule_a_criterion_or_a_code_keep_failures_apart() -> None:
    for feedback in ("symptom S0{}", "criterion {}: not met", "exit code {}", "check #{} failed"):
        assert ids(failed("a", feedback.format(1)), failed("b", feedback.format(2))) == [("a",), ("b",)]


@given(st.integers(1, 90), st.integers(1, 2_000))
def test_one_prompt_keeps_its_budget_and_counts_what_it_leaves_out(count: int, words: int) -> None:
    letters = "abcdefghij"
    failures = [
        failed(f"t{at}", f"the part {letters[at // 10]}{letters[at % 10]} is wrong", "word " * words)
        for at in range(count)
    ]
    text, shown = render_failures(group_failures(failures))
    assert estimate_tokens(text) < PROMPT_TOKENS * 1.1
    assert ("more tasks failed" in text) == (len(shown) < count)
    assert len(shown) >= min(count, 36)
    assert all(f"### Task {task}\n" in text for task in shown)


def test_failures_that_differ_in_values_alone_are_one_example_and_rows_of_their_values() -> None:
    rest = "".join(f'\npart {at}: answer: expected a match of "form {at}", found none' for at in range(5))
    feedback = (
        'kind: answer: expected a match of "{}", found none\nform: answer: expected a match of "x", found none' + rest
    )
    text, shown = render_failures(group_failures([failed(code, feedback.format(code)) for code in ("KA", "KB", "KC")]))

    assert shown == ("KA", "KB", "KC")
    assert text.count("### Task ") == text.count("form:") == 1
    assert all(text.count(f'"{code}"') == 1 for code in shown)
