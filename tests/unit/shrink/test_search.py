"""Searches side by side: what they wait for is one batch, and none ends for another one's cap."""

from collections.abc import Sequence
from random import Random

import pytest

from skillopt.loop.caps import BudgetReached
from skillopt.loop.evidence import TrainEvidence
from skillopt.rollouts import Rollout
from skillopt.shrink.search import Search, Searching, search_together
from skillopt.skills.document import Skill
from skillopt.tasks import Task, VerifierSpec
from tests.fakes.worlds import SKILL

NAMES = "abcd"


class Asked:
    """Measures nothing, notes the sizes of batches, and has a cap on rollouts."""

    def __init__(self, cap: int = 99) -> None:
        self.batches: list[int] = []
        self.ended: list[int] = []
        self.cap = cap
        tasks = [Task(name, "Do.", VerifierSpec("exact")) for name in NAMES]
        self.search = Search(TrainEvidence(SKILL, tasks, Random(0), self.measure), (), lambda _: SKILL)

    def measure(self, wanted: Sequence[tuple[Skill, Task]]) -> list[Rollout | None]:
        if sum(self.batches) + len(wanted) > self.cap:
            raise BudgetReached("the cap")
        self.batches.append(len(wanted))
        return [None] * len(wanted)

    def run(self, number: int, *sizes: int) -> Searching[None]:
        for size in sizes:
            assert len((yield [(SKILL, name) for name in NAMES[:size]])) == size
        self.ended.append(number)


def test_what_searches_wait_for_at_a_time_is_one_batch() -> None:
    asked = Asked()
    search_together(asked.search, [asked.run(1, 3, 1), asked.run(2, 2, 4, 1)])
    assert asked.batches == [5, 5, 1]
    assert asked.ended == [1, 2]


def test_a_search_goes_on_within_the_cap_when_another_one_has_reached_it() -> None:
    asked = Asked(cap=6)
    with pytest.raises(BudgetReached):
        search_together(asked.search, [asked.run(1, 1, 1, 1), asked.run(2, 2, 4)])
    assert asked.batches == [3, 1, 1]
    assert asked.ended == [1]
