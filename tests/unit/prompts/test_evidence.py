"""Evidence in prompts stays inside its fence and its budget."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.prompts.evidence import fence, render_rollout, render_rollouts, shorten_middle
from skillopt.rollouts import Message, Rollout, Score, Status, ToolCall, Trajectory
from skillopt.skills.document import estimate_tokens
from skillopt.tasks import File, Task, VerifierSpec

TASK = Task("t1", "Clean it.", VerifierSpec("exact", '{"value": "SECRET"}', (File("expected", b"SECRET"),)))


def rollout(feedback: str, words: str = "I look.") -> Rollout:
    messages = (Message("user", "Clean it."), Message("assistant", words, (ToolCall("read", "in.csv", "a,b"),)))
    return Rollout("t1", "d", 0, Trajectory(messages), Status.OK, Score(0.5, passed=False, feedback=feedback))


@given(st.text())
def test_fenced_text_cannot_close_its_own_fence(text: str) -> None:
    lines = fence("evidence", text).split("\n")
    assert lines[0].removeprefix("<<<") == lines[-1].removesuffix(">>>")
    assert lines[-1] not in text.split("\n")


@given(st.text(max_size=5000), st.integers(20, 400))
def test_shortened_text_keeps_its_budget_and_says_that_it_was_cut(text: str, tokens: int) -> None:
    cut = shorten_middle(text, tokens)
    assert cut == text or "tokens left out" in cut
    assert cut == text or len(cut) <= tokens * 4 + 80


def test_feedback_comes_before_the_trajectory_and_survives_a_long_one() -> None:
    shown = render_rollout(TASK, rollout("row 3 is wrong", "word " * 5000), 300)
    assert shown.index("row 3 is wrong") < shown.index("trajectory:")
    assert estimate_tokens(shown) < 400


def test_tool_calls_are_shown_and_the_verifier_is_not() -> None:
    shown = render_rollouts([(TASK, rollout("row 3 is wrong"))], 1000)
    assert "tool read(in.csv) -> a,b" in shown
    assert "SECRET" not in shown


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(100, 2000), st.integers(0, 29))
def test_a_long_trajectory_is_cut_around_what_matters(lengths: list[int], tokens: int, troubled: int) -> None:
    turns = [f"turn{at} {'word ' * length}" for at, length in enumerate(lengths)]
    at = troubled % len(turns)
    turns[at] = f"turn{at} command not found {turns[at]}"
    messages = (Message("user", "Clean it."), *(Message("assistant", turn) for turn in turns))
    done = Rollout("t1", "d", 0, Trajectory(messages), Status.OK, Score(0.5, passed=False, feedback="wrong"))
    shown = render_rollout(TASK, done, tokens)
    assert estimate_tokens(shown) <= tokens * 1.3 + 60
    if "trajectory:" in shown:
        shown_turns = [at for at in range(len(turns)) if f"assistant: turn{at} " in shown]
        assert len(turns) - 1 in shown_turns
        assert len(shown_turns) == len(turns) or "left out" in shown
        if tokens >= 400:
            assert at in shown_turns
