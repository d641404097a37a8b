"""The pages on threads and on the order of rollouts say what was measured."""

from benchmarks.scale import scheduling, threads
from benchmarks.scale.threads import Busy, Long, Threads


def test_beginning_with_the_longest_tasks_ends_a_batch_sooner_and_costs_and_passes_the_same() -> None:
    result = scheduling.measure(quick=True)
    plain, ordered, hedged = result.policies[:3]
    assert (plain.workers, plain.seconds) == (8, 1.0)
    assert ordered.seconds < 0.9
    assert abs(ordered.cost - 1.0) < 1e-9
    assert ordered.passed == plain.passed
    assert "It is left out" in scheduling.markdown(result)
    assert f"| {100 * hedged.seconds:.0f}% |" in scheduling.markdown(result)


def test_the_page_on_threads_says_the_least_share_of_the_rows_that_count_and_whether_the_goal_holds() -> None:
    rows = (
        Busy("1", 64, 512, 8.2, 8.0, 64.0),
        Busy("0.1", 100, 4000, 5.0, 4.0, 1000.0),
        Busy("0.1", 256, 10240, 16.0, 4.0, 2560.0),
    )
    tenths = (Long(10_000, 1.5, 100.0, 20.0), Long(20_000, 1.6, 101.0, 25.0))
    page = threads.markdown(Threads(rows, ((1, 400.0), (64, 800.0)), tenths))
    assert page.startswith("**80.0%** of the ideal is the least of the 2 rows")
    assert "does not hold" in page
    assert "400 with 1; 800 with 64 workers" in page.replace("\n", " ")
    assert "| 1 | 64 | 512 | 64 | 62.4 | 97.6% |" in page
    assert "| 20,000 | 1.60 | 101 | 400 |" in page
