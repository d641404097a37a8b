"""The Pareto front: what is known by every objective, and what is beaten by none."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.pareto import Worth, front, known_losses, measured_worth
from skillopt.rollouts import Rollout, Score, Status, Trajectory, Usage

COARSE = st.lists(
    st.builds(Worth, st.integers(0, 4).map(lambda at: at / 4), st.integers(0, 4).map(float)), min_size=1, max_size=8
)


def test_the_measured_costs_are_those_of_the_target_over_rollouts_with_a_score() -> None:
    def rollout(usd: float | None, turns: int, *, scored: bool = True) -> Rollout:
        score = Score(1.0, passed=True, usage=Usage(9, usd=9.0)) if scored else None
        status = Status.OK if scored else Status.INFRA_ERROR
        return Rollout("t", "d", 0, Trajectory(usage=Usage(turns, usd=usd)), status, score)

    told = [rollout(0.25, 2), rollout(0.75, 4), rollout(None, 99, scored=False)]
    assert measured_worth(0.5, 10, told) == Worth(0.5, 10, 0.5, 3)
    assert measured_worth(0.5, 10, [*told, rollout(None, 3)]) == Worth(0.5, 10, None, 3)


def test_one_that_is_longer_and_no_better_is_not_on_the_front() -> None:
    assert front(known_losses([Worth(0.8, 100), Worth(0.8, 120), Worth(0.9, 150)])) == (0, 2)


def test_of_equals_the_first_is_on_the_front() -> None:
    assert front([(1.0, 2.0), (1.0, 2.0), (3.0, 1.0), (1.0, 2.0)]) == (0, 2)


def test_cheaper_rollouts_can_put_a_version_on_the_front_unless_some_price_is_not_known() -> None:
    versions = [Worth(0.8, 100, usd=0.02), Worth(0.8, 120, usd=0.01)]
    assert front(known_losses(versions)) == (0, 1)
    assert front(known_losses([*versions, Worth(0.7, 130)])) == (0,)


@given(COARSE)
def test_a_front_beats_all_others_and_nobody_on_it(worths: list[Worth]) -> None:
    losses = known_losses(worths)
    found = front(losses)
    for at, one in enumerate(losses):
        as_good = [other for other in found if all(mine <= its for mine, its in zip(losses[other], one, strict=True))]
        assert as_good == [at] if at in found else as_good
