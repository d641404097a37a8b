"""Which runs are sure."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.sure_runs import sure_rounds, sure_runs

GROUPS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 16)), max_size=3)


@given(GROUPS, st.integers(0, 8), st.randoms(use_true_random=False))
def test_whatever_fails_each_sure_run_is_made(shapes: list[tuple[int, int, int]], found: int, draw: object) -> None:
    groups = [
        ([f"{group}.{number}" for number in range(count)], most, limit)
        for group, (count, most, limit) in enumerate(shapes)
    ]
    made: list[str] = []
    failing = found
    for names, most, limit in groups:  # as the learner finds failing tasks
        runs, left = 0, limit - len(made)
        while runs < min(left, len(names)) and failing < most:
            batch = names[runs : min(len(names), left, runs + most - failing)]
            runs += len(batch)
            made += batch
            failing += sum(draw.random() < 0.5 for _ in batch)  # type: ignore[attr-defined]  # it is a Random
    assert set(sure_runs(groups, found)) <= set(made)


def test_a_first_group_that_is_wanted_whole_is_sure_and_of_the_next_what_it_cannot_fill() -> None:
    assert sure_runs([(["a", "b"], 24, 28), (["c", "d", "e"], 4, 10)], 0) == ["a", "b", "c", "d"]


@given(st.lists(st.floats(-1.9, 1.9), min_size=1, max_size=3), st.floats(0.1, 3.0), st.data())
def test_no_evidence_leaves_its_bounds_in_the_sure_rounds(
    evidence: list[float], step: float, data: st.DataObject
) -> None:
    now = list(evidence)
    for _ in range(sure_rounds(evidence, -2.0, 2.0, step)):
        now = [one + step * data.draw(st.sampled_from((-1, 1))) for one in now]
        assert all(-2.0 < one < 2.0 for one in now)
