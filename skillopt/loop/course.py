"""Courses: stages of the loop as coroutines that yield events and what they wait for, and what drives them.

Courses that go side by side share batches: workers that one fold's few rollouts leave idle run the other fold's.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from skillopt.errors import ProviderError
from skillopt.loop.caps import BudgetReached
from skillopt.loop.events import Event
from skillopt.rollouts import Reply, Rollout
from skillopt.skills.document import Skill
from skillopt.tasks import Task

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


@dataclass(frozen=True, slots=True)
class ReplyRead:
    """A course has read the reply to a prompt; `unread` is the text of one that it could not read."""

    prompt: str
    unread: str | None = None


Course: TypeAlias = Generator["Event | Runs | Prompts | ReplyRead", Any, T]
_Waits: TypeAlias = "dict[Course[None], Runs | Prompts]"
"""What each course under way waits for."""


def _no_note(read: ReplyRead) -> None:
    pass


def _no_runs(wanted: Sequence[tuple[Skill, Task]]) -> Sequence[Rollout | None]:
    raise TypeError(f"expected questions to the optimizer model alone, found {len(wanted)} rollouts")


@dataclass(frozen=True, slots=True)
class Answerer:
    """What answers courses: the optimizer model by prompts and schema, and rollouts, None for one without a score.

    It is told of each reply whether it could be read.
    """

    replies: Callable[[Sequence[str], str], Sequence[Reply]]
    measure: Callable[[Sequence[tuple[Skill, Task]]], Sequence[Rollout | None]] = _no_runs
    note: Callable[[ReplyRead], None] = _no_note


def measure(wanted: Sequence[tuple[Skill, Task]]) -> Course[Sequence[Rollout | None]]:
    """Wait for rollouts; None for one without a score."""
    found: Sequence[Rollout | None] = yield Runs(tuple(wanted))
    return found


def ask(prompts: Sequence[str], schema: str = "") -> Course[Sequence[Reply]]:
    """Wait for replies, in the order of the prompts."""
    found: Sequence[Reply] = yield Prompts(tuple(prompts), schema)
    return found


def go(courses: Sequence[Course[None]], answerer: Answerer) -> Iterator[Event]:
    """Advance courses side by side, and yield their events as they come.

    A cap that one of them reaches is raised when the others have ended.
    """
    waits: _Waits = {}
    reached: list[BudgetReached] = []
    for course in courses:
        yield from _advance(partial(next, course), course, (waits, reached), answerer)
    while waits:
        asking = [course for course, item in waits.items() if isinstance(item, Prompts)] or list(waits)
        for course, answer in zip(asking, _answers(answerer, [waits[course] for course in asking]), strict=True):
            failed = isinstance(answer, Exception)
            go_on = partial(course.throw if failed else course.send, answer)
            yield from _advance(go_on, course, (waits, reached), answerer)
    if reached:
        raise reached[0]


def _advance(
    go_on: Callable[[], Event | Runs | Prompts | ReplyRead],
    course: Course[None],
    state: tuple[_Waits, list[BudgetReached]],
    answerer: Answerer,
) -> Iterator[Event]:
    """Go on with a course to the next thing to wait for, or to its end."""
    waits, reached = state
    try:
        item = go_on()
        while not isinstance(item, Runs | Prompts):
            if isinstance(item, ReplyRead):
                answerer.note(item)
            else:
                yield item
            item = next(course)
        waits[course] = item
    except StopIteration:
        waits.pop(course, None)
    except BudgetReached as cap:
        waits.pop(course, None)
        reached.append(cap)


def finish(course: Course[T], answerer: Answerer) -> T:
    """Drive one course to its end for its result; what it tells of is dropped."""
    found: list[T] = []

    def run() -> Course[None]:
        found.append((yield from course))

    list(go([run()], answerer))
    return found[0]


def _answers(answerer: Answerer, asked: Sequence[Runs | Prompts]) -> list[Any]:
    """Answer what several courses wait for in one batch, or one by one where the batch passes a cap or fails."""
    try:
        runs = [one.wanted for one in asked if isinstance(one, Runs)]
        prompts = [one for one in asked if isinstance(one, Prompts)]
        parts: Sequence[Sequence[Any]] = runs or [one.prompts for one in prompts]
        joined = [item for part in parts for item in part]
        found = iter(answerer.measure(joined) if runs else answerer.replies(joined, prompts[0].schema))
    except (BudgetReached, ProviderError) as error:
        return [error] if len(asked) == 1 else [answer for one in asked for answer in _answers(answerer, [one])]
    return [list(islice(found, len(part))) for part in parts]
