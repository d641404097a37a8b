"""The measurement of a Ray cluster says its figures."""

from benchmarks.scale.cluster import ClusterResult, LostNode, Pace, markdown


def test_the_share_of_the_ideal_is_rollouts_by_latency_over_workers_and_time() -> None:
    assert Pace(2, 24, 1.0, 96, 20.0, 5.0, 7.0, 65.0).of_ideal == 96 * 1.0 / 24 / 5.0


def test_figures_stand_in_a_row_for_each_executor_and_a_sentence_for_the_node_that_was_killed() -> None:
    paces = (Pace(0, 24, 1.0, 96, 5.1, 4.1, 4.1, 0.0), Pace(1, 24, 1.0, 96, 20.0, 4.4, 7.0, 65.0))
    said = markdown(ClusterResult({"1": 5.0}, paces, LostNode(24, 24, 8, 32, 2, 21.0)))
    assert "| threads | 24 | 1 s | 96 | 4.10 s | 98% | 4.10 s | 5.1 s |  |" in said
    assert "| Ray, 1 node | 24 | 1 s | 96 | 4.40 s | 91% | 7.00 s | 20.0 s | 65 MB |" in said
    assert "24 answered, 8 were on that node, 32\nbegun in all, none more than 2 times" in said
