"""Courses side by side: what they wait for is one batch, and none ends for another one's cap or failure."""

from collections.abc import Sequence

import pytest

from skillopt.errors import FailureKind, ProviderError
from skillopt.loop.caps import BudgetReached
from skillopt.loop.course import Answerer, Course, ask, go, measure
from skillopt.loop.events import Event, MemoryUpdated
from skillopt.rollouts import Reply, Rollout
from skillopt.skills.document import Skill
from skillopt.tasks import Task, VerifierSpec
from tests.fakes.worlds import SKILL

TASKS = [Task(name, "Do.", VerifierSpec("exact")) for name in "abcd"]


class Asked:
    """Answers nothing, notes the sizes of batches, and has a cap on rollouts."""

    def __init__(self, cap: int = 99) -> None:
        self.batches: list[int] = []
        self.prompts: list[tuple[str, ...]] = []
        self.cap = cap

    def measure(self, wanted: Sequence[tuple[Skill, Task]]) -> list[Rollout | None]:
        if sum(self.batches) + len(wanted) > self.cap:
            raise BudgetReached("the cap")
        self.batches.append(len(wanted))
        return [None] * len(wanted)

    def replies(self, prompts: Sequence[str], schema: str) -> list[Reply]:
        self.prompts.append(tuple(prompts))
        if "poison" in prompts:
            raise ProviderError(FailureKind.TOO_LARGE, schema)
        return [Reply(prompt.upper()) for prompt in prompts]

    def drive(self, *courses: Course[None]) -> list[Event]:
        return list(go(courses, Answerer(self.replies, self.measure)))


def learn(number: int, *sizes: int) -> Course[None]:
    for size in sizes:
        assert len((yield from measure([(SKILL, task) for task in TASKS[:size]]))) == size
    yield MemoryUpdated(number, "")


def question(prompt: str, found: list[str]) -> Course[None]:
    try:
        found += [reply.text for reply in (yield from ask([prompt]))]
    except ProviderError:
        found.append("failed")


def test_what_courses_wait_for_at_a_time_is_one_batch() -> None:
    asked = Asked()
    events = asked.drive(learn(1, 3, 1), learn(2, 2, 4, 1))
    assert asked.batches == [5, 5, 1]
    assert events == [MemoryUpdated(1, ""), MemoryUpdated(2, "")]


def test_a_course_goes_on_within_the_cap_when_another_one_has_reached_it() -> None:
    asked = Asked(cap=6)
    told: list[Event] = []
    with pytest.raises(BudgetReached):
        told.extend(go([learn(1, 1, 1, 1), learn(2, 2, 4)], Answerer(asked.replies, asked.measure)))
    assert asked.batches == [3, 1, 1]
    assert told == [MemoryUpdated(1, "")]


def test_a_prompt_that_fails_fails_for_the_course_that_asked_it_alone() -> None:
    asked, found = Asked(), list[str]()
    asked.drive(question("poison", found), question("words", found))
    assert asked.prompts == [("poison", "words"), ("poison",), ("words",)]
    assert found == ["failed", "WORDS"]
