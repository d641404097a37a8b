"""The rollouts on a page: what tells most is chosen, and no trace makes a page large."""

from skillopt.reports.blocks import Paragraph, Text
from skillopt.reports.rollout_page import RolloutEntry, choose_rollouts, show_turns
from skillopt.rollouts import Message, ToolCall, Trajectory


def listed(task: str, repeat: int, *, passed: bool, score: float = 0.5) -> RolloutEntry:
    return RolloutEntry(f"{task}/{repeat}", task, "train", "v1", repeat, 1.0 if passed else score, passed)


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
    messages = (Message("user", "do"), Message("assistant", "z" * 3_000_000, calls))
    texts = [block.text for block in show_turns(Trajectory(messages)) if isinstance(block, Text)]
    assert sum(map(len, texts)) < 30_000
    assert "2,997,000 characters are left out here" in texts[1]


def test_a_thousand_turns_are_cut_to_the_first_and_the_last() -> None:
    messages = tuple(Message("assistant", f"turn {number} " + "w" * 500) for number in range(1000))
    blocks = list(show_turns(Trajectory(messages)))
    texts = [block.text for block in blocks if isinstance(block, Text)]
    assert len(texts) == 40
    assert texts[0].startswith("turn 0")
    assert texts[-1].startswith("turn 999")
    assert Paragraph("… 960 turns left out here …") in blocks
