"""Pass rates without and with a right line, estimated from reruns: they decide how much one rollout tells.

A symptom goes away by itself with some chance, and with the line that answers it with a greater one. One outcome is
then worth the logarithm of the ratio of the two (sequential probability ratio test, Wald 1945).
"""

import math
from dataclasses import dataclass

__all__ = ["PassRates"]

_MOST_REPEATS = 5
_NOISY = 0.32
"""Sum of both kinds of error above which a run of the reference beside another one tells nothing."""


@dataclass(slots=True)
class PassRates:
    """What reruns have shown so far; a prior of little weight until then."""

    gone: float = 0.2
    reruns: float = 2.0
    held: float = 0.0
    answered: float = 0.0

    @property
    def without(self) -> float:
        """The chance that a symptom is gone though nothing answers it, in [0.05, 0.6]."""
        return min(0.6, max(0.05, self.gone / self.reruns))

    @property
    def answering(self) -> float:
        """The chance that it is gone with the line that answers it, in [0.6, 0.95]."""
        least = max(self.without + 0.25, 0.6)
        return min(0.95, max(least, (self.held + 4 * (1 - self.without)) / (self.answered + 4)))

    @property
    def for_it(self) -> float:
        """The evidence that one run with the symptom gone is for a line: log-likelihood ratio, > 0."""
        return math.log(self.answering / self.without)

    @property
    def against(self) -> float:
        """The evidence that one run with the symptom there is against a line, > 0."""
        return math.log((1 - self.without) / (1 - self.answering))

    @property
    def noisy(self) -> bool:
        """Whether one run tells little."""
        return self.without + 1 - self.answering > _NOISY

    @property
    def repeats(self) -> int:
        """The runs that a decision about one line takes, from 1 to 5."""
        rate = self.answering
        return max(1, min(_MOST_REPEATS, round(2 / (rate * self.for_it - (1 - rate) * self.against))))

    def rerun(self, *, gone: bool) -> None:
        """Note that a failing task was run again, under the same text, that answers nothing of it."""
        self.reruns += 1
        self.gone += gone

    def answer(self, *, held: bool) -> None:
        """Note that a task whose symptoms are answered was run."""
        self.answered += 1
        self.held += held
