"""Courses: code of the loop that is run before its turn, as far as answers are known, to find what it will ask.

A course decides nothing. It is run again from its start when what it waits for is answered, as a run is that goes on,
and what it asks is begun by workers that have nothing else to do.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from skillopt.errors import SkilloptError
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Reply, Rollout

__all__ = ["Course", "Courses", "KnownAnswers"]

Course: TypeAlias = Callable[[Runner], object]
"""Asks a runner what the loop will ask; it is stopped at the first question that has no answer yet."""


@dataclass(frozen=True, slots=True)
class KnownAnswers:
    """Looks up what is answered."""

    rollouts: Callable[[Sequence[RolloutRequest]], Sequence[tuple[str, Rollout | None]]]
    replies: Callable[[Sequence[str]], Sequence[tuple[str, Reply | None]]]


class _UnansweredError(Exception):
    """The course has come to a question that has no answer yet."""


@dataclass(slots=True)
class _Course:
    """One course, and what it waits for."""

    course: Course
    rollouts: Mapping[str, RolloutRequest] = field(default_factory=dict)
    prompts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    over: bool = False

    @property
    def waits(self) -> bool:
        """Whether something that it waits for has no answer."""
        return bool(self.rollouts or self.prompts)

    def note_answered(self, keys: Collection[str]) -> None:
        """Wait for these no more."""
        self.rollouts = {key: request for key, request in self.rollouts.items() if key not in keys}
        self.prompts = {key: prompt for key, prompt in self.prompts.items() if key not in keys}

    def follow(self, answers: KnownAnswers) -> None:
        """Run it to its end, or to the first question without an answer; an error ends it without a word."""
        self.rollouts, self.prompts = {}, {}
        with suppress(SkilloptError, _UnansweredError):
            self.course(_Peek(self, answers))
        self.over = not (self.rollouts or self.prompts)


class _Peek:
    """A runner that gives what is known, and notes what is not."""

    def __init__(self, ahead: _Course, answers: KnownAnswers) -> None:
        self._ahead, self._answers = ahead, answers

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Return the answers, or stop the course."""
        found = self._answers.rollouts(requests)
        known = tuple(answer for _, answer in found if answer is not None)
        if len(known) < len(found):
            pairs = zip(found, requests, strict=True)
            self._ahead.rollouts = {key: request for (key, answer), request in pairs if answer is None}
            raise _UnansweredError
        return known

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:
        """Return the answers, or stop the course."""
        asked = list(prompts)
        found = self._answers.replies(asked)
        known = tuple(answer for _, answer in found if answer is not None)
        if len(known) < len(found):
            pairs = zip(found, asked, strict=True)
            self._ahead.prompts = {key: (prompt, schema) for (key, answer), prompt in pairs if answer is None}
            raise _UnansweredError
        return known


class Courses:
    """The courses of a run, followed as answers come."""

    def __init__(
        self,
        answers: KnownAnswers,
        begin_rollouts: Callable[[Mapping[str, RolloutRequest]], None],
        begin_prompts: Callable[[Mapping[str, tuple[str, str]]], None],
    ) -> None:
        self._answers = answers
        self._begin_rollouts, self._begin_prompts = begin_rollouts, begin_prompts
        self._courses: list[_Course] = []
        self._begun: set[str] = set()

    def add(self, course: Course) -> None:
        """Take up a course."""
        self._courses.append(_Course(course))

    def clear(self) -> None:
        """Follow none any more."""
        self._courses.clear()

    def note(self, keys: Iterable[str]) -> None:
        """Note what is answered or under way in its turn, so that it is not begun ahead."""
        self._begun.update(keys)

    def note_answered(self, keys: Iterable[str]) -> None:
        """Note what was answered just now, and is known from now on."""
        found = set(keys)
        self._begun -= found
        for one in self._courses:
            one.note_answered(found)

    def follow(self) -> None:
        """Run on the courses whose questions are answered, and begin what they ask."""
        for one in [one for one in self._courses if not one.waits]:
            one.follow(self._answers)
            rollouts = {key: request for key, request in one.rollouts.items() if key not in self._begun}
            prompts = {key: prompt for key, prompt in one.prompts.items() if key not in self._begun}
            self._begun |= rollouts.keys() | prompts.keys()
            self._begin_rollouts(rollouts)
            self._begin_prompts(prompts)
        self._courses = [one for one in self._courses if not one.over]
