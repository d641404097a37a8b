"""Look ahead: what a run will most likely ask next, found by running its loop on with guessed answers.

The loop asks one batch after the other. Who answers by hand wants few and large ones, so what most guesses come to ask
is handed out at once. A guess decides nothing: the run itself waits for the answers.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from random import Random
from statistics import fmean
from typing import Final, Protocol

from skillopt.errors import SkilloptError
from skillopt.loop.events import Event
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Message, Reply, Rollout, Score, Status, Trajectory, Usage

__all__ = ["Ahead", "Recorded", "look_ahead"]

_FUTURES: Final = 4
"""Guessed courses of a run; each takes as long as running through all that is recorded."""

_LIKELY: Final = 0.75
"""Share of them that ask for a rollout which is handed out now."""

_NEAR: Final = 6
"""Guessed batches that are looked at; what comes later depends on too many guesses."""

_TO_THE_END: Final = 2
"""Courses that are followed to their end, to say how much is still to come."""

_MENDS: Final = 0.5
"""Chance that a guessed edit mends a task that it cites, and that a text never run on a failing task does."""

_LASTS: Final = 0.9
"""Chance that a task goes as it went under the same text, and that one that passed still passes under another."""

_MARK: Final = "guessed rule"
"""Stands in every guessed edit and answer, and so in every text and prompt that rests on one."""


class Recorded(Protocol):
    """Gives the answers that are recorded; None for what was never answered."""

    def rollout(self, request: RolloutRequest) -> Rollout | None:
        """Give the recorded rollout of a request."""
        ...

    def reply(self, prompt: str) -> Reply | None:
        """Give the recorded reply to a prompt."""
        ...


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a run will most likely ask.

    Args:
        rollouts: Rollouts without an answer, in the order in which they are asked.
        prompts: Prompts without an answer, each with the JSON schema of its reply.
        batches: About how many batches are still to come.
        answered: Batches that are answered already.
    """

    rollouts: tuple[RolloutRequest, ...]
    prompts: tuple[tuple[str, str], ...]
    batches: int
    answered: int


def look_ahead(run: Callable[[Runner], Iterable[Event]], recorded: Recorded, seed: str) -> Ahead:
    """Run a loop to its end several times, with guesses where no answer is recorded.

    Args:
        run: Begins the loop from its start with a runner.
        recorded: The answers that there are.
        seed: Of the guesses; the same seed and answers guess the same.
    """
    futures = [_Future(recorded, Random(f"{seed}/{number}")) for number in range(_FUTURES)]
    for number, future in enumerate(futures):
        future.follow(run, inf if number < _TO_THE_END else _NEAR)
    rollouts = {_key(request): request for future in futures for request in future.rollouts_asked}
    asked = Counter(key for future in futures for key in {_key(request) for request in future.rollouts_asked})
    prompts = {prompt: schema for future in futures for prompt, schema in future.prompts_asked.items()}
    sure = [prompt for prompt in prompts if all(prompt in future.prompts_asked for future in futures)]
    return Ahead(
        tuple(rollouts[key] for key in rollouts if asked[key] >= _LIKELY * _FUTURES),
        tuple((prompt, prompts[prompt]) for prompt in sure),
        round(fmean(future.batches for future in futures[:_TO_THE_END])),
        futures[0].answered,
    )


class _FarEnough(Exception):  # noqa: N818 - an ordinary end
    """Enough was guessed."""


class _Future:
    """A runner that guesses what is not recorded, and notes what it was asked.

    Args:
        recorded: The answers that there are.
        draw: Of the guesses.
    """

    def __init__(self, recorded: Recorded, draw: Random) -> None:
        self._recorded, self._draw = recorded, draw
        self._newest: dict[str, Rollout] = {}
        self._failed: dict[str, Rollout] = {}
        self._passes: dict[tuple[str, str], bool] = {}
        self._cited: dict[str, frozenset[str]] = {}
        self.rollouts_asked: list[RolloutRequest] = []
        self.prompts_asked: dict[str, str] = {}
        self.batches = self.answered = 0

    def follow(self, run: Callable[[Runner], Iterable[Event]], batches: float) -> None:
        """Run until so many batches were guessed; a loop that a guess leads astray ends there."""
        self._most = batches
        with suppress(SkilloptError, _FarEnough):
            for _ in run(self):
                pass

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Answer rollouts from what is recorded, else by a guess."""
        known = [self._recorded.rollout(request) for request in requests]
        for rollout in known:
            if rollout is not None:
                self._note(rollout)
        missing = [request for request, rollout in zip(requests, known, strict=True) if rollout is None]
        self._begin_batch(guessed=bool(missing))
        if self.batches <= _NEAR:
            self.rollouts_asked += [request for request in missing if not _is_guessed(request)]
        return tuple(
            self._guess(request) if rollout is None else rollout
            for request, rollout in zip(requests, known, strict=True)
        )

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:
        """Answer prompts from what is recorded, else with guessed edits."""
        prompts = tuple(prompts)
        known = [self._recorded.reply(prompt) for prompt in prompts]
        missing = [prompt for prompt, reply in zip(prompts, known, strict=True) if reply is None]
        self._begin_batch(guessed=bool(missing))
        self.prompts_asked |= {prompt: schema for prompt in missing if _MARK not in prompt}
        return tuple(
            self._propose(prompt) if reply is None else reply for prompt, reply in zip(prompts, known, strict=True)
        )

    def _begin_batch(self, *, guessed: bool) -> None:
        self.batches += guessed
        self.answered += not self.batches
        if self.batches > self._most:
            raise _FarEnough

    def _note(self, rollout: Rollout) -> None:
        if rollout.score is None:
            return
        self._newest[rollout.task_id] = rollout
        self._passes[rollout.skill_digest, rollout.task_id] = rollout.score.passed
        if not rollout.score.passed:
            self._failed[rollout.task_id] = rollout

    def _guess(self, request: RolloutRequest) -> Rollout:
        """Guess a rollout; a failing one has the feedback that its task had before."""
        digest, name = request.digest, request.task.id
        before = self._failed.get(name)
        score = Score(1.0, passed=True)
        if not self._goes_well(request, digest):
            score = before.score if before and before.score else Score(0.0, passed=False, feedback=f"{_MARK} fails")
        said = (Message("user", request.task.prompt), Message("assistant", _MARK))
        usage = self._newest[name].trajectory.usage if name in self._newest else Usage(calls=1)
        trajectory = Trajectory(said, f"{_MARK} {self._draw.random()}", usage=usage)
        return Rollout(name, digest, request.repeat, trajectory, Status.OK, score)

    def _goes_well(self, request: RolloutRequest, digest: str) -> bool:
        """Guess whether a task passes under a text: the same for every repeat, but for some noise."""
        name, key = request.task.id, (digest, request.task.id)
        if key not in self._passes:
            newest = self._newest.get(name)
            was = bool(newest and newest.score and newest.score.passed)
            self._passes[key] = self._draw.random() < _LASTS if was else self._is_mended(request)
        return self._passes[key] if self._draw.random() < _LASTS else not self._passes[key]

    def _is_mended(self, request: RolloutRequest) -> bool:
        text = request.skill.document.text if request.skill else ""
        if _MARK in text:
            return any(rule in text and request.task.id in tasks for rule, tasks in self._cited.items())
        return self._draw.random() < _MENDS

    def _propose(self, prompt: str) -> Reply:
        """Guess a reply: an edit for each kind of failure that the prompt shows."""
        shown: dict[str, list[str]] = {}
        for name, rollout in self._failed.items():
            if name in prompt and rollout.score:
                shown.setdefault(rollout.score.feedback, []).append(name)
        edits = []
        for names in shown.values():
            rule = f"- Keep to {_MARK} {len(self._cited) + 1}.\n"
            self._cited[rule.strip()] = frozenset(name for name in names if self._draw.random() < _MENDS)
            edits.append({"op": "add", "content": rule, "rationale": _MARK, "tasks": names})
        return Reply(json.dumps({"edits": edits, "failures": []}), Usage(calls=1))


def _is_guessed(request: RolloutRequest) -> bool:
    return request.skill is not None and _MARK in request.skill.document.text


def _key(request: RolloutRequest) -> tuple[str, str, int]:
    return request.digest, request.task.id, request.repeat
