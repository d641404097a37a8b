"""The test by betting: errors hold however often one looks, and what is found is worth having."""

import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.comparison import Outcome
from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, conclude, lower_limit, observe, upper_limit

ALPHA = 0.1
DIFFERENCES = st.lists(st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1, 1)), max_size=30)
Draw = Callable[[Random], float]


def judge(plan: SequentialPlan, draw: Callable[[], float | None], batch: int = 3) -> tuple[Outcome, int]:
    """Run one comparison that looks after every batch."""
    bets, outcome = SequentialTest(plan), None
    while outcome is None:
        bets = observe(bets, [draw() for _ in range(min(batch, bets.left))])
        outcome = conclude(bets)
    return outcome, len(bets.differences)


def signs(ties: float, gain: float = 0.0) -> Draw:
    return lambda random: random.choices([1.0, -1.0, 0.0], [(1 - ties + gain) / 2, (1 - ties - gain) / 2, ties])[0]


def partial(ties: float, gain: float = 0.0) -> Draw:
    return lambda random: 0.0 if random.random() < ties else max(-1.0, min(1.0, random.gauss(gain, 0.3)))


def rare_loss(random: Random) -> float:
    return -1.0 if random.random() < 0.05 else 0.05 / 0.95


def accept_rate(plan: SequentialPlan, draw: Draw, runs: int, seed: int) -> float:
    random = Random(seed)
    return sum(judge(plan, lambda: draw(random))[0] is Outcome.ACCEPT for _ in range(runs)) / runs


def bound(alpha: float, runs: int) -> float:
    """Return what a true rate of alpha exceeds once in a thousand simulations."""
    return alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


@pytest.mark.parametrize("tasks", [5, 12, 40])
@pytest.mark.parametrize(
    "draw",
    [
        signs(0.0),
        signs(0.5),
        signs(0.95),
        partial(0.0),
        partial(0.5),
        rare_loss,
        lambda random: -rare_loss(random),
    ],
    ids=["symmetric", "ties", "heavy ties", "partial credit", "partial with ties", "rare great loss", "rare great win"],
)
@pytest.mark.slow
def test_without_a_gain_an_accept_is_no_more_frequent_than_promised_though_one_looks_often(
    draw: Draw, tasks: int
) -> None:
    runs = 3000
    plan = SequentialPlan(tasks, 1 - ALPHA, least_chance=0.0)
    assert accept_rate(plan, draw, runs, tasks) <= bound(ALPHA, runs)


def test_at_the_boundary_of_a_margin_the_error_holds_too() -> None:
    plan = SequentialPlan(40, 1 - ALPHA, margin=0.1, least_chance=0.0)
    assert accept_rate(plan, signs(0.5, gain=0.1), 3000, 7) <= bound(ALPHA, 3000)


def test_giving_up_early_only_makes_accepts_rarer() -> None:
    for seed in range(200):
        draws = [signs(0.3, 0.1)(random) for random in [Random(seed)] for _ in range(40)]
        if judge(SequentialPlan(40), iter(draws).__next__)[0] is Outcome.ACCEPT:
            assert judge(SequentialPlan(40, least_chance=0.0), iter(draws).__next__)[0] is Outcome.ACCEPT


@pytest.mark.parametrize(
    ("tasks", "draw", "power", "cost"),
    [
        (12, signs(0.5, 0.5), 0.75, 11),
        (36, signs(0.0, 0.3), 0.50, 22),
        (36, signs(0.5, 0.3), 0.75, 23),
        (36, signs(0.9, 0.1), 0.42, 33),
        (36, partial(0.0, 0.1), 0.48, 30),
        (100, signs(0.5, 0.2), 0.75, 55),
        (100, signs(0.9, 0.1), 0.95, 62),
    ],
)
def test_a_planted_gain_is_found(tasks: int, draw: Draw, power: float, cost: float) -> None:
    runs, random = 400, Random(tasks)
    ends = [judge(SequentialPlan(tasks, 1 - ALPHA), lambda: draw(random), batch=6) for _ in range(runs)]
    assert sum(outcome is Outcome.ACCEPT for outcome, _ in ends) / runs >= power
    assert sum(looked for _, looked in ends) / runs <= cost


def test_a_useless_candidate_costs_less_than_half_of_a_split() -> None:
    random = Random(3)
    looked = [judge(SequentialPlan(100), lambda: signs(0.5)(random), batch=6)[1] for _ in range(300)]
    assert sum(looked) / len(looked) < 50


def test_looking_again_at_the_same_tasks_is_no_new_evidence_and_a_share_of_alpha_for_each_round_is() -> None:
    random, rounds, tasks, runs = Random(11), 8, 12, 400
    naive = shared = 0
    for _ in range(runs):
        # No gain over all tasks there could be, but one in each task, up or down.
        leanings = [random.choice([-0.6, 0.6]) for _ in range(tasks)]
        repeats = [[signs(0.2, leaning)(random) for leaning in leanings] for _ in range(rounds)]
        again = (difference for repeat in repeats for difference in repeat)
        plan = SequentialPlan(rounds * tasks, 1 - ALPHA, least_chance=0.0)
        naive += judge(plan, again.__next__)[0] is Outcome.ACCEPT
        means = [[math.fsum(seen) / last for seen in zip(*repeats[:last], strict=True)] for last in (1, rounds)]
        each = SequentialPlan(tasks, 1 - ALPHA / 2, least_chance=0.0)
        shared += any(judge(each, iter(mean).__next__)[0] is Outcome.ACCEPT for mean in means)
    assert naive / runs > 2 * ALPHA
    assert shared / runs <= bound(ALPHA, runs)


def test_the_limits_of_the_gain_hold_it_as_often_as_promised() -> None:
    random, runs, below, above = Random(5), 120, 0, 0
    for _ in range(runs):
        bets = observe(SequentialTest(SequentialPlan(24, 1 - ALPHA)), [signs(0.4, 0.2)(random) for _ in range(24)])
        below += lower_limit(bets) <= 0.2
        above += upper_limit(bets) >= 0.2
    assert min(below, above) / runs >= 1 - bound(ALPHA, runs)


def test_the_limits_close_in_on_the_gain() -> None:
    random, draw = Random(6), signs(0.4, 0.2)
    wide, narrow = (
        observe(SequentialTest(SequentialPlan(tasks)), [draw(random) for _ in range(tasks)]) for tasks in (20, 400)
    )
    assert upper_limit(narrow) - lower_limit(narrow) < 0.25 < upper_limit(wide) - lower_limit(wide)
    assert lower_limit(observe(SequentialTest(SequentialPlan(5)), [])) == -1.0
    assert upper_limit(observe(SequentialTest(SequentialPlan(5)), [])) == 1.0


@given(DIFFERENCES, st.integers(0, 30))
def test_cutting_the_same_sequence_into_other_batches_changes_nothing(differences: list[float], cut: int) -> None:
    start = SequentialTest(SequentialPlan(30))
    assert observe(observe(start, differences[:cut]), differences[cut:]) == observe(start, differences)


@given(DIFFERENCES)
def test_exchanging_the_sides_exchanges_the_limits_and_never_accepts_both(differences: list[float]) -> None:
    one = observe(SequentialTest(SequentialPlan(30)), differences)
    other = observe(SequentialTest(SequentialPlan(30)), [-difference for difference in differences])
    assert lower_limit(one) == -upper_limit(other)
    assert not (conclude(one) is Outcome.ACCEPT and conclude(other) is Outcome.ACCEPT)


@given(DIFFERENCES, st.floats(-0.9, 0.9))
def test_the_e_value_is_always_positive_and_the_confidence_never_falls(differences: list[float], margin: float) -> None:
    bets = SequentialTest(SequentialPlan(30, margin=margin))
    for difference in differences:
        later = observe(bets, [difference])
        assert math.isfinite(later.log_e_value)
        assert 0 <= bets.confidence <= later.confidence < 1
        bets = later


@given(DIFFERENCES, st.floats(0, 0.9))
def test_a_tie_never_raises_the_e_value(differences: list[float], margin: float) -> None:
    bets = observe(SequentialTest(SequentialPlan(40, margin=margin)), differences)
    assert observe(bets, [0.0]).log_e_value <= bets.log_e_value


@given(DIFFERENCES)
def test_a_stop_for_lack_of_possibility_never_stops_what_could_still_be_accepted(differences: list[float]) -> None:
    bets = observe(SequentialTest(SequentialPlan(34, least_chance=0.0)), differences)
    if conclude(bets) in (Outcome.REJECT, Outcome.INCONCLUSIVE):
        assert conclude(observe(bets, [1.0] * bets.left)) is not Outcome.ACCEPT


@given(DIFFERENCES)
def test_a_win_instead_of_a_loss_never_lowers_the_e_value_of_the_next_look(differences: list[float]) -> None:
    bets = observe(SequentialTest(SequentialPlan(31)), differences)
    assert observe(bets, [1.0]).log_e_value >= bets.log_e_value >= observe(bets, [-1.0]).log_e_value


def test_ties_throughout_are_rejected_before_all_were_looked_at() -> None:
    outcome, looked = judge(SequentialPlan(40), lambda: 0.0)
    assert (outcome, looked < 40) == (Outcome.REJECT, True)


def test_a_gain_too_small_to_tell_is_inconclusive_at_the_end() -> None:
    bets = observe(SequentialTest(SequentialPlan(6)), [0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    assert conclude(bets) is Outcome.INCONCLUSIVE
    assert 0 < bets.confidence < 0.9


def test_four_wins_and_no_loss_are_enough_at_the_end_of_a_split_and_three_never_are() -> None:
    assert conclude(observe(SequentialTest(SequentialPlan(4)), [1.0] * 4)) is Outcome.ACCEPT
    assert conclude(observe(SequentialTest(SequentialPlan(3)), [])) is None
    assert conclude(observe(SequentialTest(SequentialPlan(3)), [1.0])) is Outcome.INCONCLUSIVE


def test_what_was_not_measured_is_no_evidence_and_uses_up_its_task() -> None:
    bets = observe(SequentialTest(SequentialPlan(12)), [None, 1.0, None])
    assert (bets.left, bets.measured) == (9, (1.0,))
    assert conclude(observe(SequentialTest(SequentialPlan(2)), [None])) is None
    assert conclude(observe(SequentialTest(SequentialPlan(2)), [None, None])) is Outcome.INVALID


def test_more_tasks_than_planned_and_numbers_that_are_no_differences_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 1 more tasks of the 2 planned, found 2"):
        observe(observe(SequentialTest(SequentialPlan(2)), [0.0]), [0.0, 0.0])
    for number in (1.5, math.nan):
        with pytest.raises(ValueError, match=r"in \[-1, 1\], found"):
            observe(SequentialTest(SequentialPlan(2)), [number])
    for tasks, confidence, margin in ((0, 0.9, 0.0), (1, 1.0, 0.0), (1, 0.9, -1.0)):
        with pytest.raises(ValueError, match="expected tasks > 0"):
            SequentialPlan(tasks, confidence, margin)
