"""The rule that starts from a record: it finds harm, spares what is harmless, and never refuses by the record."""

from collections.abc import Callable
from random import Random

import pytest

from skillopt.review.one_sided import (
    WRONG_REFUSAL,
    Batch,
    Side,
    TaskRecord,
    WatchEnding,
    WatchFinding,
    chance_to_pass,
    follow,
    tasks_to_record,
    usual_share,
    watched_tasks,
)
from tools.simulated_changes import World, merged_change, rates

NAMES = [f"task{number}" for number in range(12)]
RECORD = {name: TaskRecord(8, 8) for name in NAMES} | {"hard": TaskRecord(0, 8)}


def drive(
    passes: Callable[[Side, str], bool | None], record: dict[str, TaskRecord] = RECORD, **families: str
) -> tuple[WatchFinding, list[tuple[Side, str]]]:
    asked: list[tuple[Side, str]] = []

    def run(batch: Batch) -> list[bool | None]:
        asked.extend(batch)
        return [passes(side, task) for side, task in batch]

    return follow(record, [*record], run, families), asked


def test_a_text_that_fails_nothing_passes_after_one_run_of_each_task_that_passed() -> None:
    finding, asked = drive(lambda *_: True)
    assert finding == WatchFinding(WatchEnding.PASSED, tuple(NAMES))
    assert asked == [(Side.NEW, name) for name in NAMES]


def test_one_task_that_breaks_for_good_is_named_after_fresh_runs_of_both_texts() -> None:
    finding, asked = drive(lambda side, task: side is Side.OLD or task != "task3")
    assert (finding.ending, finding.broken) == (WatchEnding.BROKEN, ("task3",))
    fresh = [task for side, task in asked if side is Side.OLD]
    assert fresh == ["task3"] * 6


def test_nothing_is_refused_where_the_old_text_fails_now_too() -> None:
    finding, asked = drive(lambda _, task: task not in ("task3", "task4"))
    assert finding.ending is WatchEnding.PASSED
    assert finding.moved == ("task3", "task4")
    assert len(asked) < 30


def test_a_target_that_became_worse_everywhere_is_no_harm() -> None:
    random = Random(3)
    finding, _ = drive(lambda *_: random.random() < 0.45)
    assert finding.ending in (WatchEnding.PASSED, WatchEnding.UNSURE, WatchEnding.TARGET_CHANGED)
    assert finding.broken == ()


def test_what_a_short_record_passed_once_of_twice_is_looked_at_again_before_it_counts() -> None:
    record = RECORD | {"task3": TaskRecord(1, 2)}
    finding, asked = drive(lambda _, task: task != "task3", record)
    assert finding.ending is WatchEnding.PASSED
    assert [task for side, task in asked if side is Side.OLD] == ["task3"]


def test_of_a_family_one_task_speaks_for_all_where_both_texts_run() -> None:
    _, asked = drive(lambda side, task: side is Side.OLD or task not in ("task3", "task4"), task4="task3")
    assert {task for side, task in asked if side is Side.OLD} == {"task3"}


def test_a_task_that_cannot_be_measured_is_no_failure() -> None:
    finding, _ = drive(lambda _, task: None if task == "task3" else True)
    assert (finding.ending, finding.broken) == (WatchEnding.PASSED, ())


def test_tasks_that_never_passed_cannot_be_watched() -> None:
    assert watched_tasks({"hard": TaskRecord(0, 8), "flaky": TaskRecord(4, 8)}) == ()
    assert watched_tasks(RECORD) == tuple(NAMES)


def test_a_record_is_made_of_one_run_of_each_task_and_more_of_those_that_pass() -> None:
    assert tasks_to_record({}, ["a", "b"], 2) == ("a", "b")
    assert tasks_to_record({"a": TaskRecord(1, 1), "b": TaskRecord(0, 1)}, ["a", "b"], 2) == ("a",)
    assert tasks_to_record({"a": TaskRecord(1, 2), "b": TaskRecord(0, 1)}, ["a", "b"], 2) == ()


def test_the_usual_share_is_not_flattered_by_the_runs_that_chose_the_tasks() -> None:
    random, found = Random(7), []
    for _ in range(200):
        passed = [(sum(random.random() < rate for _ in range(8))) for rate in [0.9] * 12 + [0.1] * 12]
        found.append(usual_share({str(at): TaskRecord(count, 8) for at, count in enumerate(passed)}))
    assert sum(found) / len(found) == pytest.approx(0.9, abs=0.01)


def test_the_chance_that_harm_passes_falls_with_the_tasks_that_are_lost() -> None:
    one, three = (chance_to_pass(RECORD, lost, Random(1)) for lost in (1, 3))
    assert three < one < 0.3


@pytest.mark.parametrize(
    ("world", "passed", "refused", "rollouts"),
    [
        (World("", 24), (0.92, 1.0), (0.0, WRONG_REFUSAL), 21),
        (World("", 24, 0.5), (0.0, 0.02), (0.95, 1.0), 27),
        (World("", 24, drift=-0.1), (0.5, 1.0), (0.0, WRONG_REFUSAL), 45),
        (World("", 24, family=4), (0.7, 1.0), (0.0, WRONG_REFUSAL), 24),
        (World("", 24, everywhere=0.2), (0.0, 0.33), (0.0, 1.0), 60),
    ],
)
def test_levels_and_costs_hold_in_simulation(
    world: World, passed: tuple[float, float], refused: tuple[float, float], rollouts: float
) -> None:
    own_passed, own_refused, asked = rates(world, 300, 9000)
    assert passed[0] <= own_passed <= passed[1]
    assert refused[0] <= own_refused <= refused[1]
    assert asked <= rollouts


def test_a_merged_change_costs_a_gate_and_the_record_of_its_text() -> None:
    passed, refused, gate, record = merged_change(200, 9000)
    assert gate + record < 70
    assert passed > 0.8
    assert refused <= WRONG_REFUSAL
