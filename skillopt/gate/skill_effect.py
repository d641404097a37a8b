"""Does a skill help, hurt or lie idle on its tasks: paired tests of it against no skill, valid whenever one looks.

Which task is compared next is drawn at random from the suite, with replacement, before anything of it is run. So every
pair of rollouts has the mean gain on these tasks as its expectation, however much tasks differ, and four bets on the
mean (skillopt.gate.mean_bet) may look after each pair: the gain is above 0, below 0, below what removal may lose, and
no loss as large. The claim is about these tasks, not about new ones.

Where several skills are tested at once, which of them help or hurt is decided by e-BH (Wang & Ramdas 2022) over both
sides of all skills: of the skills said to help or hurt, a share of `error` at most is wrong on average, a wrong
direction included, whatever the skills have in common. That a skill is idle is tested for each skill by itself.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from random import Random
from typing import Final

from skillopt.gate.mean_bet import MeanBet, gain_limits

EFFECT_ERROR: Final = 0.1
"""Share of the skills said to help or hurt that may be wrong on average; half of it for each side of `idle`."""


class SkillEffect(StrEnum):
    """What a skill does for its tasks, against no skill."""

    HELPS = "helps"
    IDLE = "idle"
    HURTS = "hurts"
    CANNOT_TELL = "cannot tell"


class EffectTest:
    """The pairs of one of several skills so far, and what they show; `loss` is what a removal may lose."""

    def __init__(self, pairs: int, loss: float = 0.1, skills: int = 1) -> None:
        self._pairs, self.skills = pairs, skills
        self._sides = tuple(MeanBet(pairs, EFFECT_ERROR / 2 / skills) for _ in range(2))
        self._idle = tuple(MeanBet(pairs, EFFECT_ERROR / 2, -loss) for _ in range(2))
        self.gains: list[float | None] = []

    def observe(self, gains: Sequence[float | None]) -> None:
        """Look at the next pairs."""
        turned = [None if gain is None else -gain for gain in gains]
        for above, below in (self._sides, self._idle):
            above.observe(gains)
            below.observe(turned)
        self.gains += gains

    def reach_for(self, found: int) -> None:
        """Set what must be reached to help or hurt, now that so many skills do."""
        for side in self._sides:
            side.target = _target(min(found + 1, self.skills), self.skills)

    @property
    def log_e_values(self) -> tuple[float, ...]:
        """The logarithms of the e-values that it helps, and that it hurts."""
        return tuple(side.log_e_value for side in self._sides)

    @property
    def effect(self) -> SkillEffect:
        """What is shown by now."""
        helps, hurts = (side.reached for side in self._sides)
        if helps != hurts:
            return SkillEffect.HELPS if helps else SkillEffect.HURTS
        idle = all(side.log_peak >= side.target for side in self._idle)
        return SkillEffect.IDLE if idle and not helps else SkillEffect.CANNOT_TELL

    @property
    def outstanding(self) -> bool:
        """Whether it would help or hurt, were it the only skill that is tested."""
        return max(self.log_e_values) >= _target(1, 1)

    @property
    def left(self) -> int:
        """The pairs that may still be run; 0 once there is an answer."""
        return 0 if self.effect is not SkillEffect.CANNOT_TELL else self._pairs - len(self.gains)

    @property
    def gain(self) -> float | None:
        """The mean gain so far; None before the first."""
        measured = [gain for gain in self.gains if gain is not None]
        return math.fsum(measured) / len(measured) if measured else None

    @property
    def limits(self) -> tuple[float, float]:
        """What the mean gain on these tasks lies between, each end with half of the error."""
        return gain_limits(self.gains, self._pairs, EFFECT_ERROR / 2)

    @property
    def progress(self) -> float:
        """The share of the way to the nearest answer: 1 is there."""
        sides = (side.log_e_value / side.target for side in self._sides)
        return max(*sides, min(side.log_peak / side.target for side in self._idle))


def _target(found: int, skills: int) -> float:
    """Return the logarithm of the e-value that makes a side one of so many that help or hurt."""
    return -math.log(EFFECT_ERROR * found / (2 * skills))


def share_error(tests: Sequence[EffectTest]) -> None:
    """Count by e-BH which skills help or hurt, and let all tests go on from there."""
    values = sorted((value for test in tests for value in test.log_e_values), reverse=True)
    found = 0
    for count, value in enumerate(values[: len(tests)], 1):
        if value >= _target(count, len(tests)):
            found = count
    for test in tests:
        test.reach_for(found)


def draw_tasks(tasks: int, pairs: int, random: Random) -> list[tuple[int, int]]:
    """Draw the order of the pairs: the index of the task, and how often it came before."""
    counts = [0] * tasks
    drawn = []
    for _ in range(pairs):
        index = random.randrange(tasks)
        drawn.append((index, counts[index]))
        counts[index] += 1
    return drawn
