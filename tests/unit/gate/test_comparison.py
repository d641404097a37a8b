"""Figures of a comparison: paired, by task or family, honest about noise and about what was not measured."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import InvalidMeasurementError, OneTextLostError
from skillopt.gate.comparison import Comparison, Pairs, compare, expect_measured, least_gain, tally
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import Metric
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import scored

SCORES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30)
OUTCOMES = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), min_size=4, max_size=40)


def measured(scores: Sequence[float | None], repeats: int = 1) -> list[Rollout]:
    tasks = [Task(f"t{number}", f"do {number}", VerifierSpec("exact")) for number in range(len(scores))]
    return [
        scored(RolloutRequest(None, task, repeat), score)
        for repeat in range(repeats)
        for task, score in zip(tasks, scores, strict=True)
    ]


def compared(
    before: Sequence[float | None], after: Sequence[float | None], families: Mapping[str, str] | None = None
) -> Comparison:
    return compare(Pairs(measured(before), measured(after)), Metric.SOFT, 0.8, families=families)


def sides(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [before for before, _ in pairs], [after for _, after in pairs]


@given(SCORES)
def test_exchanging_the_sides_negates_the_gain_and_exchanges_wins_and_losses(pairs: list[tuple[float, float]]) -> None:
    before, after = sides(pairs)
    one, other = compared(before, after), compared(after, before)
    assert one.gain == pytest.approx(-other.gain, abs=1e-12)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert (one.fixed, one.broken) == (other.broken, other.fixed)


@given(OUTCOMES)
def test_the_interval_holds_the_gain_that_was_seen_and_tasks_passed_add_up(pairs: list[tuple[float, float]]) -> None:
    found = compared(*sides(pairs))
    assert -1 <= found.low <= found.gain + 1e-12
    assert found.gain - 1e-12 <= found.high <= 1
    assert found.passed_after - found.passed_before == pytest.approx(len(found.fixed) - len(found.broken))
    assert found.gain == pytest.approx((found.passed_after - found.passed_before) / len(pairs))


@given(OUTCOMES, st.integers(1, 3))
def test_repeats_that_come_out_alike_change_no_figure(pairs: list[tuple[float, float]], repeats: int) -> None:
    before, after = sides(pairs)
    again = compare(Pairs(measured(before, repeats), measured(after, repeats)), Metric.SOFT)
    once = compared(before, after)
    assert (again.pairs, again.low, again.high) == (once.pairs, once.low, once.high)


def test_a_family_is_one_unit_and_widens_the_interval() -> None:
    before, after = [0.0] * 12, [1.0] * 6 + [0.0] * 6
    families = {f"t{number}": f"family {number // 3}" for number in range(12)}
    alone, together = compared(before, after), compared(before, after, families)
    assert (len(alone.looks[0]), len(together.looks[0])) == (12, 4)
    assert alone.gain == together.gain
    assert together.high - together.low > alone.high - alone.low


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(("tasks", "lost"), [(4, 2), (12, 6), (60, 6)])
def test_tasks_that_one_text_alone_lost_make_a_comparison_invalid_and_the_text_is_named(
    tasks: int, lost: int, place: int
) -> None:
    texts = [measured([1.0] * tasks), measured([1.0] * tasks)]
    texts[place] = measured([*[None] * lost, *[1.0] * (tasks - lost)])
    name = ("old", "new")[place]
    with pytest.raises(OneTextLostError, match=rf"{lost} of {tasks} .* {name} text"):
        expect_measured("here", Pairs(texts[0], texts[1]), 0.4)


def test_what_was_not_measured_is_counted_by_side_and_too_much_of_it_is_invalid() -> None:
    half: list[float | None] = [None] * 3
    before, after = [*half, *half, *[1.0] * 6], [*half, *[1.0] * 3, *half, *[1.0] * 3]
    some = compared(before, after)
    assert (some.missing, some.unmeasured, len(some.pairs)) == (9, (6, 6), 3)
    expect_measured("here", Pairs(measured(before), measured(after)), 0.4)
    with pytest.raises(InvalidMeasurementError, match="6 of 12"):
        expect_measured("here", Pairs(measured(before), measured(after)), 0.6)
    assert not compared([None], [None]).covered


def test_partial_scores_are_tested_as_scores_and_told_as_tasks_passed() -> None:
    found = compared([0.25] * 4, [0.75] * 3 + [1.0])
    assert (found.partial, found.gain, found.fixed) == (True, 0.25, ("t3",))
    assert sorted(found.looks[0], key=str) == [0.5, 0.5, 0.5, 0.75]
    assert (found.wins, found.losses) == (4, 0)


def test_a_look_ends_where_pairs_were_added_and_averages_repeats() -> None:
    pairs = Pairs()
    pairs.add(Pairs(measured([0.0, 0.0]), measured([1.0, 0.0])))
    pairs.add(Pairs(measured([0.0, 0.0]), measured([0.0, 0.0])))
    found = compare(pairs, Metric.SOFT)
    assert [sorted(look, key=str) for look in found.looks] == [[0.0, 1.0], [0.0, 0.5]]
    assert found.runs == ((1.0, 0.0), (0.0, 0.0))


def test_a_tally_averages_repeats_inside_a_task_and_counts_the_missing() -> None:
    found = tally([*measured([1.0, 0.5, None]), *measured([0.0, 0.5, None])])
    assert (found.score, found.passed, found.measured, found.missing) == (0.5, 0.25, 2, 1)


def test_the_least_gain_is_the_fewest_wins_that_could_convince() -> None:
    assert least_gain(48, 0.9) == 4 / 48
    assert least_gain(3, 0.9) is None
    assert least_gain(4, 0.875) == 3 / 4
