"""Contrast: rollouts without some edits, and edits that turn out to do nothing."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from skillopt.contrast import draw_left_out, find_idle
from skillopt.credit import Credit
from skillopt.edits import Edit, Op

EDITS = [
    Edit(f"e{number}", Op.ADD, content=f"- {number}", tasks=("t1",) if number % 2 else ("t2",)) for number in range(8)
]
CITING = {edit.id for edit in EDITS if "t1" in edit.tasks}


@given(st.floats(0, 0.99), st.text())
def test_only_edits_that_cite_the_task_are_left_out_and_the_same_ones_again(share: float, seed: str) -> None:
    names = draw_left_out(EDITS, "t1", share, seed)
    assert names <= CITING
    assert names == draw_left_out(EDITS, "t1", share, seed)


def test_nothing_is_left_out_at_a_share_of_nothing() -> None:
    assert not any(draw_left_out(EDITS, "t1", 0.0, str(seed)) for seed in range(50))


def test_each_edit_is_left_out_as_often_as_the_share_says() -> None:
    counts: dict[str, int] = defaultdict(int)
    for seed in range(1000):
        for name in draw_left_out(EDITS, "t1", 0.3, str(seed)):
            counts[name] += 1
    assert set(counts) == CITING
    assert all(250 < count < 350 for count in counts.values())


def test_an_edit_is_idle_when_all_that_is_known_speaks_for_less_than_the_gain_asked_for() -> None:
    idle, unsure = Credit("idle", 0.0, 0.05, 30), Credit("unsure", 0.0, 0.2, 3)
    good, new = Credit("good", 0.3, 0.05, 30), Credit("new", -0.9, 0.01, 1)
    assert find_idle([idle, unsure, good, new], 0.1) == (idle,)
