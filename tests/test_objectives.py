"""More than the score: losses, choices and fronts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.objectives import Scalarization, Worth, front, known_losses, measured_worth
from skillopt.rollouts import Rollout, Score, Status, Trajectory, Usage

SHARES = st.floats(0, 1)
AMOUNTS = st.floats(0, 5000)
WORTHS = st.builds(Worth, SHARES, AMOUNTS, st.none() | AMOUNTS, st.none() | AMOUNTS)
KNOWN = st.builds(Worth, SHARES, AMOUNTS, AMOUNTS, AMOUNTS)
WORST = st.just(0.0) | st.floats(0.01, 5000)
ALL = st.builds(Scalarization, WORST, WORST, WORST, SHARES)
COARSE = st.lists(
    st.builds(Worth, st.integers(0, 4).map(lambda at: at / 4), st.integers(0, 4).map(float)), min_size=1, max_size=8
)
FREE = Worth(1.0, 0.0, 0.0, 0.0)


@given(WORTHS, WORTHS, SHARES)
def test_where_no_cost_counts_the_gain_is_the_difference_of_the_scores_to_the_last_bit(
    before: Worth, after: Worth, progress: float
) -> None:
    assert Scalarization(progress=progress).gain(before, after) == after.score - before.score
    assert Scalarization(2000, 0.1, 30, progress=0.0).gain(before, after) == after.score - before.score


@given(ALL, WORTHS, WORTHS)
def test_a_gain_is_at_most_one_and_exchanging_the_sides_negates_it(
    scalarization: Scalarization, one: Worth, other: Worth
) -> None:
    gain = scalarization.gain(one, other)
    assert -1.0 <= gain <= 1.0
    assert scalarization.gain(other, one) == -gain


@given(ALL, KNOWN)
def test_a_loss_lies_between_that_of_a_perfect_free_skill_and_one(scalarization: Scalarization, worth: Worth) -> None:
    assert 0.0 <= scalarization.gain(worth, FREE) <= 1.0


@given(ALL, KNOWN, st.sampled_from(("score", "tokens", "usd", "turns")), SHARES)
def test_what_gets_worse_in_one_objective_never_gains(
    scalarization: Scalarization, worth: Worth, name: str, share: float
) -> None:
    number = getattr(worth, name)
    worse = number * share if name == "score" else number + 1000 * share
    assert scalarization.gain(worth, replace(worth, **{name: worse})) <= 0.0


@given(ALL, KNOWN, KNOWN)
def test_dollars_that_are_not_known_of_one_side_count_for_neither(
    scalarization: Scalarization, before: Worth, after: Worth
) -> None:
    without = replace(scalarization, usd=0.0).gain(before, after)
    assert scalarization.gain(replace(before, usd=None), after) == without
    assert scalarization.gain(before, replace(after, usd=None)) == without


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_of_two_skills_that_score_the_same_the_shorter_one_gains_whether_tasks_pass_or_fail(score: float) -> None:
    assert Scalarization(tokens=2000).gain(Worth(score, 600), Worth(score, 400)) > 0


def test_a_skill_as_long_as_the_worst_is_as_bad_as_a_failure() -> None:
    gain = Scalarization(tokens=2000).gain(Worth(1.0, 2000), Worth(0.0, 0))
    assert gain == pytest.approx(0.0)


@given(st.floats(0.05, 0.9), st.floats(0.05, 0.9))
def test_what_a_cost_takes_grows_with_the_progress(progress: float, more: float) -> None:
    cheap, dear = Worth(1.0, 100), Worth(1.0, 1000)
    early, late = (Scalarization(2000, progress=at).gain(cheap, dear) for at in (progress * more, progress))
    assert late < early < 0


def test_early_a_better_score_is_worth_tokens_that_it_is_not_worth_at_the_end() -> None:
    short, long = Worth(0.9, 100), Worth(1.0, 500)
    assert Scalarization(2000, progress=0.1).gain(short, long) > 0
    assert Scalarization(2000, progress=1.0).gain(short, long) < 0


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
