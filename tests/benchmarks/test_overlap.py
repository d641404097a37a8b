"""The measurement of a whole run: its clock, and what it says."""

import pytest

from benchmarks.scale.overlap import Overlap, OverlappedRun, VirtualExecutor, markdown, measure


def seconds(item: object, _: object) -> float:
    return float(str(item))


def test_calls_take_their_turn_on_the_workers_and_the_longest_ends_the_wait() -> None:
    executor = VirtualExecutor(2, seconds)
    groups = list(executor.run(str, [3, 1, 1, 2]))
    assert groups == [[(1, "1")], [(2, "1")], [(0, "3")], [(3, "2")]]
    assert (executor.now, executor.busy) == (4.0, 7.0)


def test_what_was_begun_ahead_by_an_idle_worker_is_joined_and_what_is_asked_goes_first() -> None:
    executor, landed = VirtualExecutor(2, seconds), list[tuple[int, str]]()
    executor.ahead(str, [5, 2], landed.extend)
    list(executor.run(str, [3]))  # beside it 5 is begun
    assert (executor.now, landed) == (3.0, [])
    assert list(executor.run(str, [5])) == [[(0, "5")]]  # 2 is begun at 3 and ends with it
    assert executor.now == 5.0
    executor.close()
    assert executor.busy == 10.0


@pytest.mark.process
def test_a_run_with_folds_is_shorter_where_work_is_begun_ahead_and_makes_no_rollout_in_vain() -> None:
    found = measure(quick=True)
    assert [run.wasted for run in found.runs] == [0, 0]
    assert all(run.unlimited <= run.overlapped < 0.8 * run.barrier for run in found.runs)


def test_the_table_gives_the_median_of_each_world_and_the_range_of_all_runs() -> None:
    runs = [
        OverlappedRun(
            "far",
            folds=True,
            seed=seed,
            rollouts=100,
            barrier=4.0,
            overlapped=hours,
            unlimited=2.0,
            busy=(0.05, 0.1),
            waits=40,
            alone=(0.1, 0.6),
            wasted=0,
        )
        for seed, hours in enumerate((2.0, 2.5, 4.0))
    ]
    said = markdown(Overlap(32, tuple(runs)))
    assert "| far, two folds | 100 | 4.0 | 2.5 | 1.60 | 2.0 | 5% | 10% | 40 | 10% | 60% | 0 |" in said
    assert "1.53 times shorter on average (1.00 to 2.00)" in said
