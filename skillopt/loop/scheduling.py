"""When to measure: whether an edit alone can show anything in this noise, and whether the draft is worth a gate."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from math import sqrt
from statistics import fmean
from typing import Final

from skillopt.gate.noise import Noise
from skillopt.loop.draft import Draft
from skillopt.rollouts import Rollout
from skillopt.settings import Settings

__all__ = ["MOST_ON_TRUST", "Readiness"]

MOST_ON_TRUST: Final = 24
"""Edits that wait without a screen at a time: more of them make a skill that one verdict cannot carry."""

_PATIENCE: Final = 10
"""Batches without a new edit after which the gate is due; an epoch of the usual splits has fewer."""

_PROMISE: Final = 1.5
"""Standard errors by which the draft must lead on train before the gate is asked."""

_BY_NOISE: Final = 1
"""Tasks that may fail twice in a row by noise alone."""

_ROUNDS: Final = 2
"""Rounds of the gate that its standard error is reckoned with; it may decide sooner, or need one more."""


class Readiness:
    """Follows what is measured in a run.

    Where outcomes change from run to run, a handful of rollouts of one edit tells nothing, however good it is: then
    edits are taken up on trust, at most 24 at a time, and judged together by how the draft does on whole
    epochs of train tasks. The gate decides as ever.

    Args:
        settings: When to trust.
        train: Tasks of the train split.
        val: Tasks of the gate.
    """

    def __init__(self, settings: Settings, train: int, val: int) -> None:
        self._settings = settings
        self._train, self._val = train, val
        self.noise = Noise(settings.trust_noise)
        self._scores: list[float] = []
        self._first: list[float] = []
        self._asked_at = self._idle = self._undecided = 0

    @property
    def trusting(self) -> bool:
        """Say whether edits are taken up on trust, because an edit alone could show nothing."""
        return not self._settings.screen_rollouts or self.noise.high

    def add_baseline(self, repeats: Sequence[Sequence[Rollout]]) -> bool:
        """Note the first skill's rollouts of the same tasks, repeat by repeat; say whether no more are needed."""
        metric = self._settings.metric
        for one, other in pairwise(repeats):
            for first, again in zip(one, other, strict=True):
                if first.score is not None and again.score is not None:
                    self.noise.add_repeat(metric.of(first.score), metric.of(again.score))
        return len(repeats) == 1 or not self._settings.screen_rollouts or not self.noise.unclear

    def note_batch(self, scored: Sequence[tuple[str, float]]) -> None:
        """Note the scores of a batch of train tasks by id; the first epoch's are what the draft is held against."""
        scores = [score for _, score in scored]
        self.noise.visit(scored)
        self._idle += 1
        self._first += scores[: max(0, self._train - len(self._first))]
        self._scores += scores

    def note_edits(self) -> None:
        """Note that something new has come."""
        self._idle = 0

    def note_verdict(self, draft: Draft, *, accepted: bool) -> None:
        """Note that the gate has decided about the draft as it is."""
        self._undecided = len(draft.pending)
        if accepted:
            self._first = self._scores[-self._train :]

    def note_removed(self, places: Collection[int]) -> None:
        """Note that waiting edits were taken out again, by their places among those that waited."""
        self._undecided -= sum(place < self._undecided for place in places)
        self.noise.forget()

    def waiting(self, draft: Draft) -> bool:
        """Say whether there is something that the gate has not decided about."""
        return len(draft.pending) > self._undecided

    def due(self, draft: Draft, left: int, stubborn: int = 0) -> bool:
        """Say whether waiting edits are worth a gate.

        Args:
            draft: What they are in.
            left: Train tasks that failed when they were run last.
            stubborn: Those among them that failed before, too, since they passed.
        """
        settings = self._settings
        if not draft.pending:
            return False
        if 0 < settings.gate_edits <= len(draft.pending) and self.waiting(draft):
            return True
        if settings.screen_rollouts and self.trusting:
            return self._promising()
        # Tasks that fail again and again ask for something that is not there yet, and it may still be found.
        patience = _PATIENCE * (2 if stubborn > _BY_NOISE else 1)
        idle = self._idle >= patience
        return self.waiting(draft) and (idle or (draft.seen == self._train and not left))

    def _promising(self) -> bool:
        """Say whether the newest half epoch leads the first epoch by more than the gate's noise."""
        recent = max(1, self._train // 2)
        if len(self._scores) < self._train + recent or len(self._scores) - self._asked_at < recent:
            return False
        gain = fmean(self._scores[-recent:]) - fmean(self._first)
        if gain <= _PROMISE * sqrt(self.noise.level / (_ROUNDS * self._val)):
            return False
        self._asked_at = len(self._scores)
        return True
