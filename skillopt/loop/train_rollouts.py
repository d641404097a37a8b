"""Rollouts of train tasks, each with a fresh repeat; a provider that is away ends the run."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Final

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.gate import first_failure
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout, Stream
from skillopt.skills.document import Skill
from skillopt.tasks import Task

__all__ = ["TrainRollouts"]

_WATCHED: Final = 24
"""Newest rollouts that tell whether a provider is away."""

_MEASURED: Final = 0.1
"""Least share of them with a score: single tasks that keep failing are no reason to stop."""

_ALIVE: Final = 0.25
"""Share of them with a score that shows a provider to be there."""

_AWAY: Final = 8
"""Rollouts without any score after which a provider is taken to be away."""


class TrainRollouts:
    """Runs train tasks."""

    def __init__(self, runner: Runner, stream: Stream, first: int = 0) -> None:
        self._runner, self._stream, self._first = runner, stream, first
        self._repeats: Counter[tuple[str, str]] = Counter()
        self._newest: deque[Rollout] = deque(maxlen=_WATCHED)
        self._unread: list[Rollout] = []

    def measure(self, wanted: Sequence[tuple[Skill, Task]]) -> list[Rollout | None]:
        """Run tasks, each under a skill of its own, side by side; None for what has no score."""
        repeats = self._repeats.copy()
        rollouts = self._runner.rollouts(self._number(wanted, repeats))
        self._repeats = repeats  # behind the runs, for a batch that passes a cap is none
        self._newest.extend(rollouts)
        self._unread.extend(rollouts)
        measured = sum(rollout.score is not None for rollout in self._newest)
        seen = len(self._newest)
        if (seen >= _AWAY and not measured) or (seen == _WATCHED and measured < _MEASURED * _WATCHED):
            newest = f"only {measured} of the newest {len(self._newest)} rollouts could be measured"
            raise InvalidMeasurementError(f"train: {newest}{first_failure(list(self._newest))}")
        return [None if rollout.score is None else rollout for rollout in rollouts]

    def _number(self, wanted: Sequence[tuple[Skill, Task]], repeats: Counter[tuple[str, str]]) -> list[RolloutRequest]:
        """Return each its next repeat, and count it."""
        requests = []
        for skill, task in wanted:
            key = (skill.digest, task.id)
            requests.append(RolloutRequest(skill, task, self._stream.repeat(self._first + repeats[key])))
            repeats[key] += 1
        return requests

    @property
    def alive(self) -> bool:
        """Whether enough of the newest rollouts could be measured for the provider not to be what fails."""
        measured = sum(rollout.score is not None for rollout in self._newest)
        return measured >= _ALIVE * len(self._newest) > 0

    def newest(self, count: int) -> list[Rollout]:
        """Return the newest of the rollouts that were not read yet, those without a score included."""
        return self._unread[-count:]

    def read(self) -> list[Rollout]:
        """Return the rollouts since they were read last, those without a score included."""
        found, self._unread = self._unread, []
        return found
