"""Courses: stages of the loop as coroutines that yield events and what they wait for, and what drives them.

Courses that go side by side share batches: workers that one fold's few rollouts leave idle run the other fold's.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from skillopt.errors import ProviderError
from skillopt.loop.caps import BudgetReached
from skillopt.loop.events import Event
from skillopt.rollouts import Reply, Rollout
from skillopt.skills.document import Skill
from skillopt.tasks import Task

__all__ = ["Answerer", "Course", "Prompts", "Runs", "ask", "finish", "go", "measure"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Runs:
    """A course waits for rollouts of train tasks, each task under a skill of its own."""

    wanted: tuple[tuple[Skill, Task], ...]


@dataclass(frozen=True, slots=True)
class Prompts:
    """A course waits for replies of the optimizer model, all of one shape."""

    prompts: tuple[str, ...]
    schema: str


Course: TypeAlias = Generator["Event | Runs | Prompts", Any, T]


def _no_runs(wanted: Sequence[tuple[Skill, Task]]) -> Sequence[Rollout | None]:
    raise TypeError(f"expected questions to the optimizer model alone, found {len(wanted)} rollouts")


@dataclass(frozen=True, slots=True)
class Answerer:
    """What answers courses: the optimizer model by prompts and schema, and rollouts, None for one without a score."""

    replies: Callable[[Sequence[str], str], Sequence[Reply]]
    measure: Callable[[Sequence[tuple[Skill, Task]]], Sequence[Rollout | None]] = _no_runs


def measure(wanted: Sequence[tuple[Skill, Task]]) -> Course[Sequence[Rollout | None]]:
    """Wait for rollouts; None for one without a score."""
    found: Sequence[Rollout | None] = yield Runs(tuple(wanted))
    return found


def ask(prompts: Sequence[str], schema: str = "") -> Course[Sequence[Reply]]:
    """Wait for replies, in the order of the prompts."""
    found: Sequence[Reply] = yield Prompts(tuple(prompts), schema)
    return found


@dataclass(slots=True)
class _Going:
    """A course under way: what it waits for, what it tells of, and its result."""

    course: Course[Any]
    waits: Runs | Prompts | None = None
    events: list[Event] = field(default_factory=list)
    over: bool = False
    cap: BudgetReached | None = None

    def advance(self, answer: Any = None, error: Exception | None = None) -> None:  # noqa: ANN401 - of either kind
        """Go on with an answer or an error to the next thing to wait for, or to the end."""
        try:
            item = self.course.throw(error) if error else self.course.send(answer)
            while not isinstance(item, Runs | Prompts):
                self.events.append(item)
                item = next(self.course)
            self.waits = item
        except StopIteration:
            self.over = True
        except BudgetReached as reached:
            self.over, self.cap = True, reached

    def told(self) -> list[Event]:
        """Return the events since they were returned last."""
        found, self.events = self.events, []
        return found


def go(courses: Sequence[Course[None]], answerer: Answerer) -> Iterator[Event]:
    """Advance courses side by side, and yield their events as they come.

    A cap that one of them reaches is raised when the others have ended.
    """
    going = [_Going(course) for course in courses]
    for one in going:
        one.advance()
        yield from one.told()
    while waiting := [one for one in going if not one.over]:
        asking = [one for one in waiting if isinstance(one.waits, Prompts)] or waiting
        for one, (answer, error) in zip(asking, _answers(answerer, [one.waits for one in asking]), strict=True):
            one.advance(answer, error)
            yield from one.told()
    if caps := [one.cap for one in going if one.cap]:
        raise caps[0]


def finish(course: Course[T], answerer: Answerer) -> T:
    """Drive one course to its end for its result; what it tells of is dropped."""
    found: list[T] = []

    def run() -> Course[None]:
        found.append((yield from course))

    list(go([run()], answerer))
    return found[0]


def _answers(answerer: Answerer, asked: Sequence[Runs | Prompts | None]) -> list[tuple[Any, Exception | None]]:
    """Answer what several courses wait for in one batch, or one by one where the batch passes a cap or fails."""
    try:
        runs = [one.wanted for one in asked if isinstance(one, Runs)]
        prompts = [one for one in asked if isinstance(one, Prompts)]
        parts: Sequence[Sequence[Any]] = runs or [one.prompts for one in prompts]
        joined = [item for part in parts for item in part]
        found = answerer.measure(joined) if runs else answerer.replies(joined, prompts[0].schema) if prompts else []
    except (BudgetReached, ProviderError) as error:
        if len(asked) == 1:
            return [(None, error)]
        return [answer for one in asked for answer in _answers(answerer, [one])]
    ends = [sum(map(len, parts[: at + 1])) for at in range(len(parts))]
    return [(found[end - len(part) : end], None) for part, end in zip(parts, ends, strict=True)]
