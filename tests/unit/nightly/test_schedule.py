"""On which weekdays and in which hours a night trains."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SettingsError
from skillopt.nightly.schedule import why_no_training
from skillopt.settings import Weekday, make_settings

SUNDAY = datetime(2026, 11, 22)  # noqa: DTZ001 - the clock of a machine has no zone


@pytest.mark.parametrize(
    ("days", "hours", "hour", "reason"),
    [
        ([], "", 14, ""),
        (["sun"], "", 0, ""),
        (["mon", "fri"], "", 14, "it is sun, and training begins on mon, fri"),
        ([], "1-5", 1, ""),
        ([], "1-5", 5, "it is 05:00, and training begins between 1:00 and 5:00"),
        ([], "22-6", 23, ""),
        ([], "22-6", 5, ""),
        ([], "22-6", 6, "it is 06:00, and training begins between 22:00 and 6:00"),
        ([], "20-24", 23, ""),
        (["sat"], "22-6", 3, ""),
        (["sun"], "22-6", 3, "it is sat, and training begins on sun"),
    ],
)
def test_a_window_says_why_nothing_is_trained(days: list[Weekday], hours: str, hour: int, reason: str) -> None:
    assert why_no_training(days, hours, SUNDAY.replace(hour=hour)) == reason


@given(st.integers(0, 23), st.integers(0, 23), st.integers(0, 23))
def test_a_window_and_its_opposite_cover_each_hour_once(first: int, last: int, hour: int) -> None:
    now = SUNDAY.replace(hour=hour)
    within = [not why_no_training([], f"{one}-{other}", now) for one, other in ((first, last), (last, first))]
    assert sum(within) == (2 if first == last else 1)


@pytest.mark.parametrize("hours", ["22", "25-3", "3-25", "a-b", "-", "22-6 "])
def test_hours_that_are_none_are_refused(hours: str) -> None:
    with pytest.raises(SettingsError, match="train_hours"):
        make_settings(("skillopt.toml", {"train_hours": hours}))


def test_settings_with_several_values_are_read_from_the_environment_and_the_file() -> None:
    settings = make_settings(("skillopt.toml", {"train_days": ["sat", "sun"], "labels": ["skills"]})).nightly
    assert (settings.train_days, settings.labels) == (("sat", "sun"), ("skills",))
    with pytest.raises(SettingsError, match="train_days"):
        make_settings(("skillopt.toml", {"train_days": ["sunday"]}))
