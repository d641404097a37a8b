"""Recall, false triggers, their intervals, and which sibling was loaded in place of which."""

import pytest

from skillopt.rollouts import Rollout, Score, Status, Trajectory, loading_note, skills_loaded
from skillopt.triggers.quality import judge_loading, trigger_rate
from skillopt.triggers.queries import Query


def ran(query: Query, *names: str) -> Rollout:
    trajectory = Trajectory((loading_note(names),))
    return Rollout(query.key, "digest", 0, trajectory, Status.OK, Score(1.0, passed=True))


def lost(query: Query) -> Rollout:
    return Rollout(query.key, "digest", 0, Trajectory(), Status.INFRA_ERROR, None, "no answer")


OWN, OTHER, NOBODY, DEAD = (
    Query("merge the files", "pdf", "x:1"),
    Query("write the letter", "docx", "x:2"),
    Query("write a haiku", "", "x:3"),
    Query("never answered", "pdf", "x:4"),
)


def test_a_request_counts_as_loaded_where_more_than_half_of_its_runs_loaded_the_skill() -> None:
    rollouts = [
        *(ran(OWN, "pdf"), ran(OWN, "pdf", "docx"), ran(OWN)),
        *(ran(OTHER, "pdf"), ran(OTHER, "docx"), ran(OTHER, "pdf")),
        *(ran(NOBODY), ran(NOBODY), lost(DEAD)),
    ]
    found = judge_loading("pdf", [OWN, OTHER, NOBODY, DEAD], rollouts)
    assert (found.recall.hits, found.recall.of) == (1, 1)
    assert (found.false_triggers.hits, found.false_triggers.of) == (1, 2)
    assert (found.unsteady, found.missing) == (2, 1)
    assert found.queries[0].query == "write the letter"


def test_the_matrix_has_the_expected_skill_in_rows_and_the_loaded_one_in_columns() -> None:
    rollouts = [ran(OWN, "pdf"), ran(OWN, "pdf", "docx"), ran(OTHER, "pdf"), ran(NOBODY)]
    found = judge_loading("pdf", [OWN, OTHER, NOBODY], rollouts).confusion
    assert found.expected == ("pdf", "docx", "(none or other)")
    assert found.loaded == ("pdf", "docx", "(none)")
    assert found.runs == ((2, 1, 0), (1, 0, 0), (0, 0, 1))


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"), [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (10, 10, 0.722, 1.0)]
)
def test_intervals_are_those_of_wilson(hits: int, of: int, low: float, high: float) -> None:
    found = trigger_rate(hits, of)
    assert (round(found.low, 3), round(found.high, 3)) == (low, high)


def test_a_harness_that_tells_nothing_is_told_from_one_that_loaded_nothing() -> None:
    assert skills_loaded(Trajectory()) is None
    assert skills_loaded(Trajectory((loading_note(()),))) == ()
    assert skills_loaded(Trajectory((loading_note(("a", "b")),))) == ("a", "b")
