"""The error of trainings on null data."""

import pytest

from benchmarks import trigger_error


@pytest.mark.parametrize("seed", ["1/18", "1/35"])
def test_what_trainings_that_begin_anew_accept_by_luck_is_not_accepted_where_they_share_their_error(seed: str) -> None:
    assert trigger_error.false_accept(seed, 10, shared=False)
    assert not trigger_error.false_accept(seed, 10, shared=True)
