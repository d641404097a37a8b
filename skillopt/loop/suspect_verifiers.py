"""Train tasks whose verifier looks wrong: flagged to the user once, and trained on all the same."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from skillopt.loop.events import VerifierSuspected
from skillopt.rollouts import Rollout, Status

__all__ = ["SuspectVerifiers"]

_LONGEST_REASON: Final = 200


class SuspectVerifiers:
    """The suspects of one run; what it says follows from what it was told, in order."""

    def __init__(self) -> None:
        self._verdicts: dict[tuple[str, str], set[bool]] = defaultdict(set)
        self._failing: set[str] = set()
        self._flagged: set[str] = set()

    def add_rollouts(self, step: int, rollouts: Iterable[Rollout]) -> Iterator[VerifierSuspected]:
        """Note train rollouts; flag a task of which the same answer passed once and failed once.

        Only rollouts that ended well with an answer and wrote no files can be compared, because a trajectory does not
        hold what is in files.
        """
        for rollout in rollouts:
            task, answer, score = rollout.task_id, rollout.trajectory.answer, rollout.score
            if score is None:
                continue
            (self._failing.discard if score.passed else self._failing.add)(task)
            if rollout.status is not Status.OK or not answer.strip() or rollout.trajectory.files_changed:
                continue
            self._verdicts[task, answer].add(score.passed)
            if len(self._verdicts[task, answer]) > 1:
                yield from self._flag(step, task, "the same answer passed once and failed once", "measured")

    def add_claims(self, step: int, claims: Mapping[str, str]) -> Iterator[VerifierSuspected]:
        """Note of which tasks a model calls the verifier wrong; one counts for a task that failed when it ran last."""
        for task, reason in claims.items():
            if task in self._failing:
                plain = "".join(character if character.isprintable() else " " for character in reason)
                yield from self._flag(step, task, " ".join(plain.split())[:_LONGEST_REASON] or "no reason", "model")

    def _flag(self, step: int, task: str, reason: str, by: str) -> Iterator[VerifierSuspected]:
        if task not in self._flagged:
            self._flagged.add(task)
            yield VerifierSuspected(step, task, reason, by)
