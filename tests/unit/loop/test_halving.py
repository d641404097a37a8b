"""The halving search: it finds the culprit in few looks, and blames nobody where nothing helps."""

from math import ceil, log2

from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.halving import find_culprit


@given(st.data(), st.integers(1, 64))
def test_one_culprit_is_found_in_one_look_and_one_for_each_halving(data: st.DataObject, number: int) -> None:
    culprit, looks = data.draw(st.integers(0, number - 1)), []

    def mends(group: tuple[int, ...]) -> bool:
        looks.append(group)
        return culprit in group

    assert find_culprit(range(number), mends) == culprit
    assert len(looks) <= 1 + ceil(log2(number))
    assert all(looks)


@given(st.sets(st.integers(0, 31), min_size=1))
def test_of_several_culprits_each_enough_alone_one_is_found(culprits: set[int]) -> None:
    assert find_culprit(range(32), lambda group: not culprits.isdisjoint(group)) in culprits


@given(st.integers(1, 64))
def test_where_removing_all_mends_nothing_one_look_says_so(number: int) -> None:
    looks: list[tuple[int, ...]] = []
    assert find_culprit(range(number), lambda group: bool(looks.append(group))) is None  # type: ignore[func-returns-value]  # None is false
    assert looks == [tuple(range(number))]


def test_without_suspects_nothing_is_looked_at() -> None:
    assert find_culprit((), lambda _: True) is None
