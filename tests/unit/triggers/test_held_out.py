"""Held-out requests: recall, false triggers and what siblings lose are counted as in a measurement; what is refused."""

import pytest

from skillopt.gate.comparison import Pairs
from skillopt.rollouts import Rollout
from skillopt.triggers.quality import HeldOutTriggers, count_held_out, judge_loading, why_worse
from skillopt.triggers.queries import Query
from tests.unit.triggers.test_quality import lost, ran

OWN = [Query(f"own {number}", "pdf", "x:1") for number in range(3)]
NOBODY = [Query(f"nobody {number}", "", "x:1") for number in range(3)]
SIBLING = [Query(f"sibling {number}", "docx", "x:1") for number in range(4)]


def counted(before: list[Rollout], after: list[Rollout]) -> HeldOutTriggers:
    return count_held_out("pdf", [*OWN, *NOBODY, *SIBLING], Pairs(before, after))


def test_a_request_counts_as_in_a_measurement_also_where_half_of_its_runs_loaded_the_skill() -> None:
    half = [ran(NOBODY[0], "pdf"), ran(NOBODY[0]), ran(OWN[0], "pdf"), ran(OWN[0])]
    found = counted(half, half)
    measured = judge_loading("pdf", [OWN[0], NOBODY[0]], half)
    assert (found.false_after, found.recall_after) == (measured.false_triggers, measured.recall)
    assert (found.false_after.hits, found.recall_after.hits) == (0, 0)


def test_requests_and_runs_are_counted_where_both_descriptions_were_measured() -> None:
    before = [ran(OWN[0]), ran(OWN[1]), ran(OWN[0])]
    after = [ran(OWN[0], "pdf"), lost(OWN[1]), ran(OWN[0], "pdf")]
    found = counted(before, after)
    assert (found.requests, found.runs) == (1, 4)
    assert (found.recall_before.hits, found.recall_after.hits, found.recall_after.of) == (0, 1, 1)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ([ran(OWN[0])], [ran(OWN[0], "pdf")], ""),
        (
            [ran(OWN[0]), ran(NOBODY[0])],
            [ran(OWN[0], "pdf"), ran(NOBODY[0], "pdf")],
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
