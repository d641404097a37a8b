"""Simulated world of one suite: what each task still needs, how noisy outcomes are, what failures show.

Nobody knows these of a real suite before it was trained on, so each simulated run draws its own, from what is recorded
of the tasks where something is, else from what is assumed here.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Final

from skillopt.tasks import Task

__all__ = ["FeedbackKind", "StartingRates", "World", "draw_world"]

_ASSUMED: Final = (1.2, 1.8)
"""Shape of the share of tasks that pass where nothing is known: two thirds of the draws lie between 17% and 63%."""

_UNSEEN: Final = 0.25
"""Runs of either kind that a recorded task counts on top of its own, so that one run is not taken for certain."""

_FLIPS: Final = (0.0, 0.0, 0.02, 0.05, 0.1, 0.2)
"""Chances that an outcome is the opposite of what the text brings about."""

_NEEDS: Final = (1, 1, 1, 2, 2, 3)
_NEEDS_OF_PARTS: Final = (1, 2, 3, 4, 6)
"""Rules that a failing task lacks; more where what is scored has parts."""

_FEWEST_RULES: Final = 2
_MOST_RULES: Final = 24
_HOPELESS: Final = (-0.2, 0.35)
"""From and to which the share of failing tasks that no text mends is drawn; below 0 there is none."""

_HARM: Final = 0.85
"""What each harmful line multiplies every chance by."""


class FeedbackKind(Enum):
    """What a failure shows: its cause in words that other tasks share, in words of its own, or only that it failed."""

    SHARED = "shared"
    OWN = "own"
    MUTE = "mute"


_FEEDBACK: Final = (FeedbackKind.SHARED, FeedbackKind.SHARED, FeedbackKind.OWN, FeedbackKind.MUTE)


@dataclass(frozen=True, slots=True)
class StartingRates:
    """How the tasks go under the first text, as far as it is known."""

    recorded: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    stated: float | None = None


@dataclass(frozen=True, slots=True)
class World:
    """What is true in one simulated run."""

    needs: Mapping[str, tuple[int, ...]]
    ability: Mapping[int, float]
    flips: float
    partial: bool
    feedback: FeedbackKind

    def chances(self, task: str, rules: frozenset[int], harms: int) -> list[float]:
        """Return the chance of each part of a task to be done; a task that needs nothing has one part."""
        factor = _HARM**harms
        needs = self.needs[task] or (None,)
        return [factor * (1 - self.flips if need is None or need in rules else self.flips) for need in needs]

    def pass_rate(self, rules: frozenset[int], harms: int) -> float:
        """Return the true share of tasks that pass under a text."""
        return sum(math.prod(self.chances(task, rules, harms)) for task in self.needs) / len(self.needs)


def draw_world(tasks: Sequence[Task], start: StartingRates, proposals: float, draw: Random, *, partial: bool) -> World:
    """Draw a world in which tasks go at first as they were recorded."""
    failing = _failing(tasks, start, draw)
    most = max(_FEWEST_RULES, min(_MOST_RULES, len(failing)))
    rules = round(math.exp(draw.uniform(math.log(_FEWEST_RULES), math.log(most))))
    hopeless = draw.uniform(*_HOPELESS)
    needs: dict[str, tuple[int, ...]] = {task.id: () for task in tasks}
    for at, name in enumerate(failing):
        if draw.random() < hopeless:
            needs[name] = (-1 - at,)
            continue
        count = min(rules, draw.choice(_NEEDS_OF_PARTS if partial else _NEEDS))
        needs[name] = tuple(sorted(draw.sample(range(rules), count)))
    ability = {rule: draw.betavariate(4 * proposals, 4 * (1 - proposals)) for rule in range(rules)}
    return World(needs, ability, draw.choice(_FLIPS), partial, draw.choice(_FEEDBACK))


def _failing(tasks: Sequence[Task], start: StartingRates, draw: Random) -> list[str]:
    """Choose the tasks that fail at first."""
    recorded = {} if start.stated is not None else start.recorded
    known = [recorded[task.id] for task in tasks if task.id in recorded]
    if start.stated is not None:
        share = start.stated
    elif known:
        passed = sum(good / runs for good, runs in known)
        share = draw.betavariate(_ASSUMED[0] + passed, _ASSUMED[1] + len(known) - passed)
    else:
        share = draw.betavariate(*_ASSUMED)
    found = []
    for task in tasks:
        good, runs = recorded.get(task.id, (0, 0))
        chance = (good + _UNSEEN) / (runs + 2 * _UNSEEN) if runs else share
        if draw.random() >= chance:
            found.append(task.id)
    return found
