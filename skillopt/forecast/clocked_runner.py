"""A runner by a clock of its own: makes calls when the runner of a real run would, and begins the same work ahead."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from skillopt.execution.courses import Course, Courses, KnownAnswers
from skillopt.execution.ordering import TaskSeconds, longest_first
from skillopt.forecast.worker_clock import WorkerClock
from skillopt.loop.caps import BudgetReached
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Rollout

__all__ = ["ClockedRunner"]


class ClockedRunner:
    """Answers the loop from two functions, and each question once; an answer is known when its call has ended."""

    def __init__(
        self,
        run: Callable[[RolloutRequest], Rollout],
        reply: Callable[[str], Reply],
        clock: WorkerClock,
        affords: Callable[[int, int], bool] = lambda _rollouts, _calls: True,
    ) -> None:
        self._run, self._reply, self._clock, self._affords = run, reply, clock, affords
        self._begun: tuple[set[str], set[str]] = (set(), set())  # rollouts, prompts
        self._requests: dict[str, RolloutRequest] = {}
        self._prompts: dict[str, str] = {}
        self._rollouts: dict[str, Rollout] = {}
        self._replies: dict[str, Reply] = {}
        self._task_seconds = TaskSeconds()
        self._proven = False
        answers = KnownAnswers(self._known_rollouts, self._known_replies)
        self._courses = Courses(answers, self._begin_rollouts, self._begin_prompts)
        self.made = self.calls = 0

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run what was not run before."""
        keys = [_key(request) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        self._requests |= wanted
        missing = [key for key in wanted if key not in self._rollouts]
        self._task_seconds.record((wanted[key], self._rollouts[key]) for key in wanted if key in self._rollouts)
        missing = longest_first(wanted, missing, self._task_seconds.means(one.task.id for one in requests))
        self._wait_for({key: wanted[key].task.id for key in missing})
        self._task_seconds.record((wanted[key], self._rollouts[key]) for key in missing)
        return tuple(self._rollouts[key] for key in keys)

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:  # noqa: ARG002 - read from the prompt
        """Ask each prompt that was not asked before."""
        asked = list(prompts)
        self._prompts |= {prompt: prompt for prompt in asked}
        self._wait_for({prompt: "" for prompt in asked if prompt not in self._replies})
        return tuple(self._replies[prompt] for prompt in asked)

    def ahead(self, course: Course) -> None:
        """Let workers that are idle begin what the loop will ask."""
        self._courses.add(course)

    def close(self) -> None:
        """Begin nothing more, and wait for what is under way."""
        self._courses.clear()
        self._clock.drop_waiting()
        while self._end_one():
            pass

    def _wait_for(self, calls: Mapping[str, str]) -> None:
        """Make calls, one at first until it has worked, as the runner of a real run does."""
        left = dict(calls)
        if self._affordable(left) != left:
            raise BudgetReached("the cap leaves less than was asked for, for what was begun ahead")
        self._courses.note(left)
        while left:
            part = left if self._proven else dict(list(left.items())[:1])
            left = {key: task for key, task in left.items() if key not in part}
            self._clock.ask(part)
            if self._proven:  # behind what is asked for now
                self._courses.follow()
            waiting = set(part)
            while waiting:
                key = self._end_one()
                if key not in waiting:  # it was begun ahead
                    self._courses.follow()
                waiting.discard(key)
            self._proven = True

    def _end_one(self) -> str:
        """Let a call end, and note its answer; give its key, empty where none runs."""
        ended = self._clock.end_next()
        if ended is None:
            return ""
        key, seconds = ended
        if key in self._requests:
            self._rollouts[key] = replace(self._run(self._requests[key]), seconds=seconds)
            self.made += 1
        else:
            self._replies[key] = self._reply(self._prompts[key])
            self.calls += 1
        self._courses.note_answered([key])
        return key

    def _begin_rollouts(self, requests: Mapping[str, RolloutRequest]) -> None:
        self._requests |= requests
        self._clock.begin_ahead(self._affordable({key: request.task.id for key, request in requests.items()}))

    def _begin_prompts(self, prompts: Mapping[str, tuple[str, str]]) -> None:
        self._prompts |= {key: prompt for key, (prompt, _) in prompts.items()}
        self._clock.begin_ahead(self._affordable(dict.fromkeys(prompts, "")))

    def _affordable(self, calls: Mapping[str, str]) -> dict[str, str]:
        """Return the calls that the caps leave, and count them as begun."""
        found: dict[str, str] = {}
        for key, task in calls.items():
            count = self._begun[not task]
            rollouts, prompts = (len(one) for one in self._begun)
            if key in count or self._affords(rollouts + bool(task), prompts + (not task)):
                count.add(key)
                found[key] = task
        return found

    def _known_rollouts(self, requests: Sequence[RolloutRequest]) -> list[tuple[str, Rollout | None]]:
        return [(key, self._rollouts.get(key)) for key in map(_key, requests)]

    def _known_replies(self, prompts: Sequence[str]) -> list[tuple[str, Reply | None]]:
        return [(prompt, self._replies.get(prompt)) for prompt in prompts]


def _key(request: RolloutRequest) -> str:
    return f"{request.digest}/{request.task.id}/{request.repeat}"
