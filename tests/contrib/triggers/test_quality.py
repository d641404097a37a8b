"""Recall, false triggers, their intervals, and which sibling was loaded in place of which."""

from dataclasses import replace

import pytest

from skillopt.contrib.triggers.loading import (
    DiscoveryRunner,
    HeldOutTriggers,
    count_held_out,
    judge_loading,
    trigger_rate,
    trigger_task,
    why_worse,
)
from skillopt.contrib.triggers.queries import Query
from skillopt.gate.comparison import Pairs
from skillopt.protocols import Discovery, RolloutRequest
from skillopt.rollouts import Rollout, Score, Status, Trajectory, loading_note
from skillopt.testing import ScriptedRunner


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


@pytest.mark.parametrize(
    ("ends", "cut_off", "undecided"),
    [
        (("limit: turns: 2", "limit: turns: 2", ""), 2, True),
        (("limit: turns: 2", "", ""), 1, False),
        (("timeout: 180 s", "timeout: 180 s", ""), 0, False),
    ],
)
def test_a_run_that_a_limit_ended_before_the_skill_was_loaded_does_not_say_that_it_is_not_loaded(
    ends: tuple[str, ...], cut_off: int, *, undecided: bool
) -> None:
    def runs(query: Query) -> list[Rollout]:
        found = ran(query, "router")
        return [replace(found, trajectory=replace(found.trajectory, reason=reason)) for reason in ends]

    found = judge_loading("pdf", [OWN, NOBODY], [*runs(OWN), *runs(NOBODY)])

    own, other = found.queries
    assert (own.cut_off, own.undecided, other.cut_off) == (cut_off, undecided, 0)
    assert found.cut_off == (cut_off if undecided else 0)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"), [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (10, 10, 0.722, 1.0)]
)
def test_intervals_are_those_of_wilson(hits: int, of: int, low: float, high: float) -> None:
    found = trigger_rate(hits, of)
    assert (round(found.low, 3), round(found.high, 3)) == (low, high)


HELD = [Query(f"own {number}", "pdf", "x:1") for number in range(3)]
OTHERS = [Query(f"nobody {number}", "", "x:1") for number in range(3)]
SIBLING = [Query(f"sibling {number}", "docx", "x:1") for number in range(4)]


def counted(before: list[Rollout], after: list[Rollout]) -> HeldOutTriggers:
    return count_held_out("pdf", [*HELD, *OTHERS, *SIBLING], Pairs(before, after))


def test_requests_and_runs_are_counted_where_both_descriptions_were_measured() -> None:
    before = [ran(HELD[0]), ran(HELD[1]), ran(HELD[0])]
    after = [ran(HELD[0], "pdf"), lost(HELD[1]), ran(HELD[0], "pdf")]
    found = counted(before, after)
    assert (found.requests, found.runs) == (1, 4)
    assert (found.recall_before.hits, found.recall_after.hits, found.recall_after.of) == (0, 1, 1)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ([ran(HELD[0])], [ran(HELD[0], "pdf")], ""),
        (
            [ran(HELD[0]), ran(OTHERS[0])],
            [ran(HELD[0], "pdf"), ran(OTHERS[0], "pdf")],
            "it loads the skill for 1 of 1 held-out requests that should not load it, 0 before",
        ),
        ([ran(one, "docx") for one in SIBLING], [ran(SIBLING[0]), *(ran(one, "docx") for one in SIBLING[1:])], ""),
        (
            [ran(one, "docx") for one in SIBLING],
            [*(ran(one) for one in SIBLING[:2]), *(ran(one, "docx") for one in SIBLING[2:])],
            "'docx' is loaded for 2 of its 4 held-out requests, 4 before",
        ),
    ],
)
def test_what_loads_the_skill_wrongly_or_takes_requests_from_a_sibling_is_refused(
    before: list[Rollout], after: list[Rollout], why: str
) -> None:
    assert why_worse(counted(before, after)) == why


def ended(status: Status, loaded: tuple[str, ...] | None, expected: str) -> Rollout:
    """Run a request that the gate would score 0 because of how it ended."""
    notes = () if loaded is None else (loading_note(loaded),)
    answer = Rollout("a", "", 0, Trajectory(notes, status=status), status, Score(0.0, passed=False), "no")
    runner = DiscoveryRunner(ScriptedRunner(lambda _: answer, str), Discovery())
    (found,) = runner.rollouts([RolloutRequest(None, trigger_task(Query("a", expected, "x:1"), "pdf"))])
    return found


@pytest.mark.parametrize("status", [Status.REFUSAL, Status.TIMEOUT])
@pytest.mark.parametrize(
    ("loaded", "expected", "score"), [((), "", 1.0), ((), "pdf", 0.0), (("pdf",), "pdf", 1.0), (("pdf",), "", 0.0)]
)
def test_a_refusal_or_a_timeout_counts_by_what_was_loaded(
    status: Status, loaded: tuple[str, ...], expected: str, score: float
) -> None:
    found = ended(status, loaded, expected)
    assert found.score is not None
    assert (found.score.passed, found.score.value) == (score == 1.0, score)


def test_a_run_that_does_not_tell_what_was_loaded_is_not_measured() -> None:
    found = ended(Status.TIMEOUT, None, "")
    assert (found.status, found.score) == (Status.INFRA_ERROR, None)
    assert "skills were loaded, found" in found.reason
