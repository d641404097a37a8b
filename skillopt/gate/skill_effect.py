"""Does a skill help, hurt or lie idle on its tasks: paired tests of it against no skill, valid whenever one looks.

Which task is compared next is drawn at random from the suite, with replacement, before anything of it is run. So every
pair of rollouts has the mean gain on these tasks as its expectation, however much tasks differ, and four sequential
tests (skillopt.gate.sequential_test) may look after each pair: the gain is above 0, below 0, below what removal may
lose, and no loss as large. The claim is about these tasks, not about new ones.

Where several skills are tested at once, which of them help or hurt is decided by e-BH (Wang & Ramdas 2022) over both
sides of all skills: of the skills said to help or hurt, a share of `error` at most is wrong on average, a wrong
direction included. It holds whatever the skills have in common, and whenever each test was stopped. With one skill it
is the chance of being wrong. That a skill is idle is tested for each skill by itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random

from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, lower_limit, observe, upper_limit

__all__ = ["EffectPlan", "EffectTest", "SkillEffect", "draw_tasks", "share_error"]


class SkillEffect(StrEnum):
    """What a skill does for its tasks, against no skill."""

    HELPS = "helps"
    IDLE = "idle"
    HURTS = "hurts"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class EffectPlan:
    """What is fixed before the first pair."""

    pairs: int
    loss: float = 0.1
    error: float = 0.1
    skills: int = 1

    def test(self, margin: float) -> SequentialTest:
        """Begin the test that a gain is above a margin, of one skill by itself."""
        return SequentialTest(SequentialPlan(self.pairs, 1 - self.error / 2, margin))

    def confidence(self, found: int) -> float:
        """Return what the test of a side must reach for this to be one of so many that help or hurt."""
        return 1 - self.error * found / (2 * self.skills)


@dataclass(frozen=True, slots=True)
class EffectTest:
    """The pairs so far, and what they show."""

    plan: EffectPlan
    gains: tuple[float | None, ...] = ()
    found: int = 0
    _tests: tuple[SequentialTest, ...] = field(default=(), repr=False)

    def observe(self, gains: Sequence[float | None]) -> "EffectTest":
        """Look at the next pairs; once there is an answer, it stays."""
        tests = self._tests or self._begin()
        found = list(gains)
        turned = [None if gain is None else -gain for gain in found]
        sides = (found, turned, turned, found)
        seen = tuple(observe(test, side) for test, side in zip(tests, sides, strict=True))
        return EffectTest(self.plan, (*self.gains, *found), self.found, seen)

    def among(self, found: int) -> "EffectTest":
        """Go on with what the next skill must reach to help or hurt, now that so many do."""
        confidence = self.plan.confidence(min(found + 1, self.plan.skills))
        above, below, *idle = self._tests or self._begin()
        sides = (replace(test, plan=replace(test.plan, confidence=confidence)) for test in (above, below))
        return EffectTest(self.plan, self.gains, found, (*sides, *idle))

    def _begin(self) -> tuple[SequentialTest, ...]:
        """Begin the four tests, which find the first skill that helps or hurts."""
        first = SequentialTest(SequentialPlan(self.plan.pairs, self.plan.confidence(1)))
        idle = self.plan.test(-self.plan.loss)
        return first, first, idle, idle

    @property
    def log_e_values(self) -> tuple[float, float]:
        """The logarithms of the e-values that it helps, and that it hurts."""
        if not self._tests:
            return 0.0, 0.0
        above, below, *_ = self._tests
        return above.log_e_value, below.log_e_value

    @property
    def effect(self) -> SkillEffect:
        """What is shown by now."""
        if not self._tests:
            return SkillEffect.UNKNOWN
        above, below = (test.log_e_value >= test.plan.target for test in self._tests[:2])
        little_gain, little_loss = (test.log_peak >= test.plan.target for test in self._tests[2:])
        if above != below:
            return SkillEffect.HELPS if above else SkillEffect.HURTS
        return SkillEffect.IDLE if little_gain and little_loss and not above else SkillEffect.UNKNOWN

    @property
    def outstanding(self) -> bool:
        """Whether it would help or hurt, were it the only skill that is tested."""
        return max(self.log_e_values) >= self.plan.test(0.0).plan.target

    @property
    def left(self) -> int:
        """Count the pairs that may still be run; 0 once there is an answer."""
        return 0 if self.effect is not SkillEffect.UNKNOWN else self.plan.pairs - len(self.gains)

    @property
    def measured(self) -> tuple[float, ...]:
        """List the gains that were measured."""
        return tuple(gain for gain in self.gains if gain is not None)

    @property
    def gain(self) -> float | None:
        """The mean gain so far; None before the first."""
        measured = self.measured
        return math.fsum(measured) / len(measured) if measured else None

    @property
    def limits(self) -> tuple[float, float]:
        """What the mean gain on these tasks lies between, each end with half of the error."""
        test = observe(self.plan.test(0.0), self.gains)
        return lower_limit(test), upper_limit(test)

    @property
    def pairs_to_go(self) -> float:
        """Guess how many pairs an answer takes, were the gain what it is so far; infinite where none is in sight."""
        if not self._tests:
            return math.inf
        above, below, little_gain, little_loss = map(_to_go, self._tests)
        return min(above, below, max(little_gain, little_loss))


def share_error(tests: Sequence[EffectTest]) -> list[EffectTest]:
    """Count by e-BH which skills help or hurt, and let all tests go on from there."""
    values = sorted((value for test in tests for value in test.log_e_values), reverse=True)
    found = 0
    for count, value in enumerate(values[: len(tests)], 1):
        if value >= SequentialPlan(1, tests[0].plan.confidence(count)).target:
            found = count
    return [test.among(found) for test in tests]


def draw_tasks(tasks: int, pairs: int, random: Random) -> list[tuple[int, int]]:
    """Draw the order of the pairs: the index of the task, and how often it came before."""
    counts = [0] * tasks
    drawn = []
    for _ in range(pairs):
        index = random.randrange(tasks)
        drawn.append((index, counts[index]))
        counts[index] += 1
    return drawn


def _to_go(test: SequentialTest) -> float:
    """Guess the pairs until a test is done, by the best bet on the mean and spread so far."""
    measured = test.measured
    if not measured:
        return math.inf
    distance = math.fsum(measured) / len(measured) - test.plan.margin
    if distance <= 0:
        return math.inf
    square = max(test.squares / len(measured), distance * distance)
    growth = min(distance * distance / (2 * square), distance) or math.inf
    return max(0.0, test.plan.target - test.log_e_value) / growth
