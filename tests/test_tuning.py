"""A study: it finds what is good, and one that was interrupted anywhere is the one that never was."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.attempts import Attempt, Result, front, recommend
from skillopt.errors import BusyError, UsageError
from skillopt.search_space import Choices, Range, Space, Value, nearest
from skillopt.tuning import Measure, Search, open_study, tune

SPACE: Space = {"reflections": Range(1, 12), "screen_confidence": Range(0.5, 0.95, 0.05), "gate": Choices(("a", "b"))}
SEARCH = Search(
    "a test", SPACE, {"reflections": 12, "screen_confidence": 0.5, "gate": "b"}, tuple("abcdefghijkl"), error=0.2
)
ATTEMPTS = 14


class Stop(Exception):  # noqa: N818 - stands for Ctrl-C, which is no error either
    """Whatever may end the process."""


def result_of(values: Mapping[str, Value], case: str) -> Result:
    """Score best with 4 reflections and gate `a`; each case has its own difficulty."""
    miss = (
        abs(int(values["reflections"]) - 4) / 10
        + abs(float(values["screen_confidence"]) - 0.7)
        + (values["gate"] == "b") / 5
    )
    return Result(max(0.0, 0.95 - miss - ord(case) % 5 / 20), 100 + 40 * int(values["reflections"]))


def measure_until(stop: int = 10**6) -> tuple[Measure, list[str]]:
    """Give a measure that stops the process instead of giving one result more, and the list of what it measured."""
    done: list[str] = []

    def measure(values: Mapping[str, Value], cases: Sequence[str]) -> Generator[Result, None, None]:
        for case in cases:
            if len(done) == stop:
                raise Stop
            done.append(case)
            yield result_of(values, case)

    return measure, done


def go_on(file: Path, stop: int = 10**6, search: Search = SEARCH) -> tuple[tuple[Attempt, ...], int]:
    measure, done = measure_until(stop)
    with open_study(file, search) as study:
        with suppress(Stop):
            tune(study, ATTEMPTS, measure, lambda _: None)
        return tuple(study.attempts), len(done)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Attempt, ...], int]:
    return go_on(tmp_path_factory.mktemp("whole") / "study.journal")


def test_a_search_begins_where_it_is_told_and_ends_better(whole: tuple[tuple[Attempt, ...], int]) -> None:
    attempts, done = whole
    assert [one.number for one in attempts] == list(range(ATTEMPTS))
    assert attempts[0].values == SEARCH.start
    best = recommend(attempts)
    assert best.score > attempts[0].score + 0.2
    assert best.rollouts < attempts[0].rollouts
    assert any(one.given_up for one in attempts)
    assert done == sum(len(one.results) for one in attempts) < ATTEMPTS * len(SEARCH.cases)
    assert all(not one.given_up for one in front(attempts))


def test_settings_are_tried_once_and_lie_on_the_dials(whole: tuple[tuple[Attempt, ...], int]) -> None:
    values = [one.values for one in whole[0]]
    assert all(one not in values[:at] for at, one in enumerate(values))
    assert all(
        nearest(SPACE[name], value) == pytest.approx(value)
        for one in values
        for name, value in one.items()
        if name != "gate"
    )


@pytest.mark.parametrize("stops", [(1,), (7, 5, 1), (12,), (13, 30), (60, 2, 2)])
def test_a_study_that_was_interrupted_goes_on_as_if_it_had_not_been(
    stops: tuple[int, ...], whole: tuple[tuple[Attempt, ...], int], tmp_path: Path
) -> None:
    file = tmp_path / "study.journal"
    measured = [go_on(file, stop)[1] for stop in stops]
    attempts, rest = go_on(file)
    assert attempts == whole[0]
    assert sum(measured) + rest == whole[1], "no case is measured twice"


@pytest.mark.parametrize("end", range(1, 40, 3))
def test_a_process_that_was_killed_while_writing_costs_at_most_that_line(
    end: int, whole: tuple[tuple[Attempt, ...], int], tmp_path: Path
) -> None:
    file = tmp_path / "study.journal"
    go_on(file, 20)
    file.write_bytes(file.read_bytes()[:-end])
    Path(f"{file}.lock").symlink_to(file)
    attempts, rest = go_on(file)
    assert attempts == whole[0]
    assert whole[1] - 20 <= rest <= whole[1] - 19


def test_more_attempts_go_on_from_those_that_are_there(whole: tuple[tuple[Attempt, ...], int], tmp_path: Path) -> None:
    measure, _ = measure_until()
    for count in (3, 2, ATTEMPTS):
        with open_study(tmp_path / "study.journal", SEARCH) as study:
            found = tune(study, count, measure, lambda _: None)
    assert found == whole[0]


def test_another_seed_asks_for_other_settings(whole: tuple[tuple[Attempt, ...], int], tmp_path: Path) -> None:
    other, _ = go_on(tmp_path / "study.journal", search=replace(SEARCH, seed=1))
    assert [one.values for one in other] != [one.values for one in whole[0]]


def test_a_file_of_another_search_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "study.journal"
    go_on(file, 3)
    before = file.read_bytes()
    with (
        pytest.raises(UsageError, match="holds a search over something else"),
        open_study(file, replace(SEARCH, title="another suite")),
    ):
        pass
    assert file.read_bytes() == before


def test_two_processes_do_not_work_on_one_study(tmp_path: Path) -> None:
    file = tmp_path / "study.journal"
    with (
        open_study(file, SEARCH),
        pytest.raises(BusyError, match="another process works on"),
        open_study(file, SEARCH),
    ):
        pass


def test_the_journal_is_a_study_of_optuna(whole: tuple[tuple[Attempt, ...], int], tmp_path: Path) -> None:
    import optuna  # noqa: PLC0415 - an optional dependency

    file = tmp_path / "study.journal"
    go_on(file)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(file)))
    loaded = optuna.load_study(study_name=None, storage=storage)
    assert [trial.user_attrs["number"] for trial in loaded.trials] == list(range(ATTEMPTS))
    kept = {one.number for one in front(whole[0])}
    assert kept <= {trial.number for trial in loaded.best_trials}
