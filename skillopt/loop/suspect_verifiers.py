"""Train tasks whose verifier looks wrong: flagged to the user, and within a cap not trained on.

A model can never silence more of the train split than the setting allows, and each flag is an event.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from skillopt.loop.events import VerifierSuspected
from skillopt.prompts.failure_kinds import NamedFailure, TaskFailureKind
from skillopt.rollouts import Rollout, Status

__all__ = ["SuspectVerifiers", "measured_reason"]

_ROLLOUTS: Final = 16
_DOCUMENTS: Final = 12
"""A task that fails alike so often and under so many documents is suspect, not merely unlearned ..."""

_REST_PASSING: Final = 0.75
"""... once this share of the other tasks passes."""

_FLIPS: Final = "the same answer passed once and failed once"

_LONGEST_REASON: Final = 200


class SuspectVerifiers:
    """The suspects of one run; what it says follows from what it was told, in order."""

    def __init__(self, train: int, share: float) -> None:
        self._most = int(train * share)
        self._seen: dict[str, list[Rollout]] = defaultdict(list)
        self._flagged: set[str] = set()
        self._set_aside: set[str] = set()

    @property
    def set_aside(self) -> frozenset[str]:
        """The tasks that the run is not to train on any more."""
        return frozenset(self._set_aside)

    def add_rollouts(self, step: int, rollouts: Iterable[Rollout]) -> Iterator[VerifierSuspected]:
        """Note train rollouts; flag the tasks that by now have a measured reason."""
        told = [rollout for rollout in rollouts if rollout.score is not None]
        for rollout in told:
            self._seen[rollout.task_id].append(rollout)
        for task in dict.fromkeys(rollout.task_id for rollout in told):
            reason = measured_reason(self._seen[task], self._rest_passing(task))
            if reason:  # a task whose rule nobody has found yet fails alike, too: it is only told
                yield from self._flag(step, task, reason, "measured", doubtful=reason != _FLIPS)

    def add_claims(self, step: int, failures: Iterable[NamedFailure]) -> Iterator[VerifierSuspected]:
        """Note what a model calls failures; a claim counts for a task that was run and failed when it ran last.

        A task that has passed in this run is flagged and never set aside: its verifier can be satisfied.
        """
        for failure in failures:
            seen = self._seen.get(failure.task, [])
            if failure.kind is TaskFailureKind.VERIFIER_SUSPECT and seen and not _passed(seen[-1]):
                reason = _one_line(failure.reason) or "no reason given"
                yield from self._flag(step, failure.task, reason, "model", doubtful=any(map(_passed, seen)))

    def _flag(self, step: int, task: str, reason: str, by: str, *, doubtful: bool) -> Iterator[VerifierSuspected]:
        """Flag a task once, and set it aside if there is room."""
        if task in self._flagged:
            return
        self._flagged.add(task)
        set_aside = not doubtful and len(self._set_aside) < self._most
        if set_aside:
            self._set_aside.add(task)
        yield VerifierSuspected(step, task, reason, by, set_aside)

    def _rest_passing(self, task: str) -> float:
        """Return the share of other tasks that passed when they ran last."""
        last = [_passed(rollouts[-1]) for name, rollouts in self._seen.items() if name != task and rollouts]
        return sum(last) / len(last) if last else 0.0


def measured_reason(rollouts: Sequence[Rollout], rest_passing: float) -> str:
    """Return why the rollouts of a task make its verifier suspect; empty when they do not.

    Two facts count. The same answer both passed and failed: the verifier does not repeat itself. Or the task
    failed in each of many rollouts under several documents, always with the same answer, while most other tasks
    pass: either nothing in a document reaches this task, or the answer is right. Only rollouts that ended well
    with an answer and wrote no files can be compared, because a trajectory does not hold what is in files.
    """
    told = [rollout for rollout in rollouts if _comparable(rollout)]
    verdicts: dict[str, set[bool]] = defaultdict(set)
    for rollout in told:
        verdicts[rollout.trajectory.answer].add(_passed(rollout))
    if any(len(found) > 1 for found in verdicts.values()):
        return _FLIPS
    documents = {rollout.skill_digest for rollout in told}
    alike = len(verdicts) == 1 and len(told) == len(rollouts) and not any(map(_passed, told))
    if alike and len(told) >= _ROLLOUTS and len(documents) >= _DOCUMENTS and rest_passing >= _REST_PASSING:
        return f"the same answer failed in all {len(told)} rollouts under {len(documents)} documents"
    return ""


def _comparable(rollout: Rollout) -> bool:
    trajectory = rollout.trajectory
    return rollout.status is Status.OK and bool(trajectory.answer.strip()) and not trajectory.files_changed


def _passed(rollout: Rollout) -> bool:
    return rollout.score is not None and rollout.score.passed


def _one_line(text: str) -> str:
    """Make a model's words safe to show: one line, no control characters, not long."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(plain.split())[:_LONGEST_REASON]
