"""The rollout viewer: what tells most is chosen, and no trace makes a page large."""

from skillopt.reports.html.viewer import RolloutEntry, ViewedRollout, choose_rollouts, show_rollout
from skillopt.rollouts import Message, Rollout, Score, Status, ToolCall, Trajectory


def listed(task: str, repeat: int, *, passed: bool, score: float = 0.5) -> RolloutEntry:
    return RolloutEntry(f"{task}/{repeat}", task, "train", "v1", repeat, 1.0 if passed else score, passed)


def shown(messages: tuple[Message, ...], feedback: str = "") -> int:
    rollout = Rollout("t", "d", 0, Trajectory(messages), Status.OK, Score(0.5, passed=False, feedback=feedback))
    one = show_rollout(ViewedRollout(listed("t", 0, passed=False), rollout))
    texts = [one.feedback, *(turn.text for turn in one.turns)]
    texts += [part for turn in one.turns for use in turn.uses for part in (use.arguments, use.result)]
    assert one.gone == sum(text.gone for text in texts)
    return sum(len(text.head) + len(text.tail) for text in texts)


def test_tasks_that_went_differently_come_before_failures_and_those_before_the_rest() -> None:
    rollouts = [
        *(listed("flips", repeat, passed=repeat == 0) for repeat in range(2)),
        *(listed("fails", repeat, passed=False) for repeat in range(3)),
        *(listed("passes", repeat, passed=True) for repeat in range(3)),
    ]
    assert [one.task for one in choose_rollouts(rollouts, 3)] == ["fails", "flips", "flips"]
    assert [(one.task, one.passed) for one in choose_rollouts(rollouts, 4)] == [
        ("fails", False),
        ("flips", False),
        ("flips", True),
        ("passes", True),
    ]
    assert len(choose_rollouts(rollouts)) == 8


def test_a_failure_is_chosen_beside_a_success_of_the_same_task() -> None:
    rollouts = [listed("t", repeat, passed=repeat > 8) for repeat in range(12)]
    assert [one.passed for one in choose_rollouts(rollouts, 4)] == [False, False, True, True]


def test_a_trace_of_five_megabytes_is_cut_and_says_by_how_much() -> None:
    calls = (ToolCall("bash", "x" * 1_000_000, "y" * 1_000_000),)
    assert shown((Message("user", "do"), Message("assistant", "z" * 3_000_000, calls)), "f" * 10_000) < 30_000


def test_a_thousand_turns_are_cut_to_the_first_and_the_last() -> None:
    messages = tuple(Message("assistant", f"turn {number} " + "w" * 500) for number in range(1000))
    rollout = Rollout("t", "d", 0, Trajectory(messages), Status.OK, Score(0.5, passed=False))
    one = show_rollout(ViewedRollout(listed("t", 0, passed=False), rollout))
    assert one.turns[0].text.head.startswith("turn 0")
    assert one.turns[-1].text.head.startswith("turn 999")
    assert len(one.turns) + sum(turn.skipped for turn in one.turns) == 1000
    assert shown(messages) < 30_000
