"""Dials: their ends are values that a run accepts, and what is not to be searched is refused."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SettingsError
from skillopt.presets import PRESETS, make_settings
from skillopt.search_space import (
    DEFAULT_SPACE,
    Choices,
    Range,
    applied,
    as_toml,
    nearest,
    overrides,
    read_space,
    space_of_names,
    start_values,
)
from skillopt.settings import Settings


@pytest.mark.parametrize("name", DEFAULT_SPACE)
def test_every_usual_dial_is_a_setting_and_both_ends_are_accepted(name: str) -> None:
    dial = DEFAULT_SPACE[name]
    assert isinstance(dial, Range)
    for end in (dial.low, dial.high):
        settings = applied(Settings(), {name: int(end) if dial.whole else end})
        assert getattr(settings, name) == end


def test_the_shipped_settings_are_on_the_usual_dials_but_for_runs_that_are_published() -> None:
    found = start_values(Settings(), DEFAULT_SPACE)
    assert {name: nearest(DEFAULT_SPACE[name], value) for name, value in found.items()} == pytest.approx(found)


@pytest.mark.parametrize("preset", PRESETS)
def test_any_turn_of_the_usual_dials_gives_settings_that_a_run_accepts(preset: str) -> None:
    base = make_settings(("test", {"preset": preset}))

    @given(st.fixed_dictionaries({name: st.floats(-5, 60) for name in DEFAULT_SPACE}))
    def holds(wild: dict[str, float]) -> None:
        values = {name: nearest(DEFAULT_SPACE[name], value) for name, value in wild.items()}
        settings = applied(base, values)
        again = make_settings(("test", {"preset": preset, **tomllib.loads(as_toml(overrides(base, values)))}))
        assert again == settings
        assert settings.min_edits <= settings.edit_budget

    holds()


def test_a_file_gives_ranges_steps_and_choices() -> None:
    text = """
    screen_trials = { low = 1, high = 9, step = 2 }
    screen_confidence = { low = 0.6, high = 0.9 }
    token_budget = { low = 100, high = 4000, log = true }
    schedule = { choices = ["cosine", "constant"] }
    """
    assert read_space(text, "space.toml") == {
        "screen_trials": Range(1, 9, 2),
        "screen_confidence": Range(0.6, 0.9, None),
        "token_budget": Range(100, 4000, 1, log=True),
        "schedule": Choices(("cosine", "constant")),
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("screen_trails = { low = 1, high = 2 }", "did you mean 'screen_trials'?"),
        ("confidence = { low = 0.6, high = 0.9 }", "'confidence' is not to be searched"),
        ("max_rollouts = { low = 1, high = 9 }", "'max_rollouts' is not to be searched"),
        ("epochs = { low = 0, high = 9 }", "epochs: Input should be greater than or equal to 1, found 0"),
        ("epochs = { low = 2, high = 2 }", "expected low < high"),
        ("epochs = { low = 2 }", "expected low < high"),
        ("epochs = { low = 2, high = 3, stride = 1 }", "Extra inputs are not permitted"),
        ("epochs = 3", "expected { low, high, step, log } or { choices }"),
        ("epochs = { low = 2, high = 8, step = 2, log = true }", "expected low > 0 and no step"),
        ("schedule = { choices = ['bent'] }", "schedule: Input should be"),
        ("screen_trials = { low = 0.5, high = 2.5 }", "screen_trials: Input should be a valid integer"),
        ("", "expected dials"),
        ("epochs = [", "not readable as TOML"),
    ],
)
def test_what_is_no_dial_is_refused_with_the_place_and_the_reason(text: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_space(text, "space.toml")
    assert str(caught.value).startswith("space.toml: ")
    assert problem in str(caught.value)


def test_a_name_without_a_usual_range_is_refused() -> None:
    assert space_of_names(["epochs"]) == {"epochs": DEFAULT_SPACE["epochs"]}
    with pytest.raises(SettingsError, match="did you mean 'reflections'"):
        space_of_names(["reflection"])
    with pytest.raises(SettingsError, match=r"give others a range in a file, NAME\.toml"):
        space_of_names(["metric"])


def test_what_is_set_now_must_be_among_the_choices() -> None:
    with pytest.raises(SettingsError, match="schedule: expected 'cosine', which is set now"):
        start_values(Settings(), {"schedule": Choices(("linear",))})


def test_a_setting_off_its_dial_counts_as_the_nearest_one_on_it() -> None:
    assert nearest(Range(8, 48, 4), 1000) == 48
    assert nearest(Range(8, 48, 4), 15) == 16
    assert nearest(Range(1, 6, 2), 6) == 5
    assert nearest(Range(0.5, 0.9, None), 0.1) == 0.5
