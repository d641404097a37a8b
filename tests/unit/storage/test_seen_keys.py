"""Keys that were seen before."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.storage.seen_keys import SeenKeys


@given(st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=6))
def test_keys_are_new_once_and_counted_once(batches: list[list[str]]) -> None:
    seen, expected = SeenKeys(), dict[str, None]()
    for batch in batches:
        new = [key for key in dict.fromkeys(batch) if key not in expected]
        assert seen.add(batch) == new
        expected |= dict.fromkeys(new)
    assert len(seen) == len(expected)
