"""A study finds what is good, and one that was interrupted anywhere is the one that never was."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import optuna
import pytest

from skillopt.actions.tune import _changes
from skillopt.errors import SettingsError
from skillopt.settings import Preset, Settings, make_settings
from skillopt.tuning.studies import RANGES, Search, Trial, choose_ranges, open_study, run_trials, trials_of

TRIALS = 14
SEEDS = tuple(range(3, 11))


class Stop(Exception):  # noqa: N818 - stands for Ctrl-C, which is no error either
    """Whatever may end the process."""


def measure_until(stop: int) -> tuple[Callable[[Mapping[str, int], int], tuple[float, int]], list[int]]:
    """Return a measure that is best with 4 patch tests and stops the process instead of giving one result more."""
    done: list[int] = []

    def measure(params: Mapping[str, int], seed: int) -> tuple[float, int]:
        if len(done) == stop:
            raise Stop
        done.append(seed)
        miss = abs(params["patch_tests"] - 4) / 10 + abs(params["patience"] - 2) / 20
        return 0.95 - miss - seed % 5 / 20 - seed / 1000, 100 + 40 * params["patch_tests"]

    return measure, done


def go_on(file: Path, stop: int = 10**6, trials: int = TRIALS, start: int = 6) -> tuple[tuple[Trial, ...], int]:
    measure, done = measure_until(stop)
    ranges = {name: RANGES[name] for name in ("patch_tests", "patience")}
    with open_study(file, "test") as study, suppress(Stop):
        run_trials(study, Search(ranges, {"patch_tests": start, "patience": 4}, SEEDS, measure), trials, lambda _: None)
    with open_study(file, "test") as study:
        return trials_of(study), len(done)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Trial, ...], int]:
    return go_on(tmp_path_factory.mktemp("whole") / "study.db")


@pytest.mark.slow
def test_a_search_begins_where_it_is_told_ends_better_and_gives_up_what_loses(
    whole: tuple[tuple[Trial, ...], int],
) -> None:
    trials, done = whole
    assert [one.number for one in trials] == list(range(TRIALS))
    assert trials[0].params == {"patch_tests": 6, "patience": 4}
    assert max(one.score for one in trials if not one.pruned) > trials[0].score + 0.2
    assert any(one.pruned for one in trials)
    assert done == sum(len(one.scores) for one in trials) < TRIALS * len(SEEDS)
    best = max((one for one in trials if not one.pruned), key=lambda one: one.score)
    assert best.params["patch_tests"] == 4


@pytest.mark.parametrize("stops", [(0, 0), (1,), (9, 3), (30, 2, 2)])
@pytest.mark.slow
def test_a_study_that_was_interrupted_goes_on_as_if_it_had_not_been(
    stops: tuple[int, ...], whole: tuple[tuple[Trial, ...], int], tmp_path: Path
) -> None:
    for stop in stops:
        go_on(tmp_path / "study.db", stop)
    assert go_on(tmp_path / "study.db")[0] == whole[0]


@pytest.mark.slow
def test_a_trial_whose_process_was_killed_is_begun_again(whole: tuple[tuple[Trial, ...], int], tmp_path: Path) -> None:
    go_on(tmp_path / "study.db", trials=2)
    with open_study(tmp_path / "study.db", "test") as study:
        study.ask()
    trials, _ = go_on(tmp_path / "study.db")
    assert trials == whole[0]
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    states = [trial.state for trial in optuna.load_study(study_name="test", storage=storage).trials]
    assert optuna.trial.TrialState.RUNNING not in states


@pytest.mark.slow
def test_more_trials_go_on_and_fewer_change_nothing(whole: tuple[tuple[Trial, ...], int], tmp_path: Path) -> None:
    for count in (3, 2, TRIALS):
        found = go_on(tmp_path / "study.db", trials=count)[0]
    assert found == whole[0]


@pytest.mark.parametrize("name", RANGES)
def test_both_ends_of_a_range_are_settings_that_a_run_takes(name: str) -> None:
    for end in RANGES[name]:
        for preset in Preset:
            base = make_settings(("test", {"preset": preset.value}))
            changes = _changes(base, {name: end})
            assert getattr(make_settings(("test", {"preset": preset.value, **changes})), name) == end


def test_ranges_are_those_of_the_names_and_hold_what_is_set_now() -> None:
    start = {name: getattr(Settings(), name) for name in RANGES}
    assert list(choose_ranges((), start)) == ["patch_tests", "edit_budget", "token_budget", "proposal_groups"]
    assert list(choose_ranges((), start | {"patch_tests": 0})) == ["epochs", "batch_size", "patience"]
    assert choose_ranges(RANGES, start) == RANGES
    assert choose_ranges(("patience",), {"patience": 0}) == {"patience": (0, 4)}
    with pytest.raises(SettingsError, match="found 'gate'"):
        choose_ranges(("patience", "gate"), start)


def test_the_least_number_of_edits_follows_a_budget_below_it() -> None:
    base = Settings()
    assert _changes(base, {"edit_budget": 2}) == {"edit_budget": 2, "min_edits": 2}
    assert _changes(base, {"edit_budget": base.min_edits}) == {"edit_budget": base.min_edits}
