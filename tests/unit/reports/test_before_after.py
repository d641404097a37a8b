"""Before and after: each task that went differently is listed once, worst first, with the point where the two part."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.comparison import Pairs
from skillopt.reports.rollouts import TaskChange, describe_worst, find_differing_tasks
from skillopt.settings import Metric
from tests.fakes.changed_tasks import make_changed, pair, rollout, task

SCORES = st.sampled_from([0.0, 0.25, 0.75, 1.0])


def test_broken_tasks_come_first_then_those_that_lost_most_then_what_improved() -> None:
    pairs = Pairs()
    for one in (pair("a", 0.5, 0.4), pair("b", 0.0, 1.0), pair("c", 1.0, 0.9), pair("d", 0.9, 0.2), pair("e", 1, 1)):
        pairs.add(one)
    found = find_differing_tasks([task(name) for name in "abcde"], pairs, Metric.SOFT)
    assert [(one.task.id, one.change.value) for one in found] == [
        ("c", "broken"),
        ("d", "worse"),
        ("a", "worse"),
        ("b", "fixed"),
    ]


@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=5))
def test_to_exchange_the_texts_exchanges_what_became_of_a_task(scores: list[tuple[float, float]]) -> None:
    pairs = Pairs(
        [rollout("t", "x", before, repeat=at) for at, (before, _) in enumerate(scores)],
        [rollout("t", "y", after, repeat=at) for at, (_, after) in enumerate(scores)],
    )
    opposite = dict(zip(TaskChange, reversed(TaskChange), strict=True))
    one = find_differing_tasks([task("t")], pairs, Metric.HARD)
    other = find_differing_tasks([task("t")], Pairs(pairs.after, pairs.before), Metric.HARD)
    assert [opposite[found.change] for found in one] == [found.change for found in other]


def test_the_worst_tasks_are_folded_out_with_feedback_before_and_after() -> None:
    text = describe_worst(make_changed("@team <b>see</b> `12`"))
    assert text.count("<details>") == text.count("</details>") == 2
    assert "val0" in text
    assert "val2" not in text
    assert "@team" not in text
    assert "<b>" not in text
    assert "not passed" in text
    assert "```\nexpected 2026-01-02, found 02.01.26\n```" in describe_worst(make_changed())
    assert describe_worst(make_changed()[2:]) == ""
