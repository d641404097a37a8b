"""Protected siblings: before a version is accepted, tasks of other skills are run with the old and the new text beside.

A skill that lies beside another one can take its tasks, or say the opposite. Who protects a sibling has its `val` tasks
run twice, once with the text that training began with beside it and once with the text that is to be accepted, task by
task. A fall that is shown on these very tasks refuses the version.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from skillopt.gate.comparison import Outcome, Pairs, Verdict
from skillopt.gate.here import measure_harm, whole_repeats
from skillopt.loop.caps import CappedRunner
from skillopt.loop.events import SiblingMeasured
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Stream
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.frontmatter import listed_description
from skillopt.tasks import Task, digest_of

_MARK: Final = "siblings "
"""What the part of a run's configuration begins with that identifies them."""

_LISTING_ONLY: Final = ("chat",)
"""Harnesses that show a skill beside the tried one by its name and description alone."""

_MOST: Final = 4
"""At most the fourth part of a cap is kept back for siblings, as for the gate."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """A skill whose tasks no accepted version of another one may lower."""

    name: str
    skill: Skill
    tasks: tuple[Task, ...]


def error_for_each(siblings: int, confidence: float) -> float:
    """Return the chance with which one sibling may refuse a version that disturbs none: all share one error.

    >>> round(error_for_each(4, 0.9), 3)
    0.025
    """
    return (1.0 - confidence) / siblings


def rollouts_kept(siblings: Sequence[Sibling], settings: Settings) -> int:
    """Count the rollouts to keep back for one candidate: whole repeats of both sides, at most a part of the cap."""
    if _lists_only(settings):
        return 0
    wanted = sum(2 * len(one.tasks) * whole_repeats(len(one.tasks)) for one in siblings)
    cap = settings.max_rollouts
    return min(wanted, cap // _MOST) if cap else wanted


def identify_siblings(siblings: Sequence[Sibling]) -> tuple[str, ...]:
    """Return what a run's configuration says of its siblings: nothing where it has none."""
    parts = [part for one in siblings for part in (one.name, one.skill.digest, *(task.digest for task in one.tasks))]
    return (f"{_MARK}{digest_of(*parts)}",) if parts else ()


def without_siblings(config: Sequence[str]) -> list[str]:
    """Return the parts of a run's configuration but for its siblings."""
    return [part for part in config if not part.startswith(_MARK)]


class SiblingGuard:
    """Measures siblings beside a candidate."""

    def __init__(self, siblings: Sequence[Sibling], start: Skill, settings: Settings, runner: CappedRunner) -> None:
        self.protected = tuple(siblings)
        self.kept = rollouts_kept(siblings, settings)
        self._start = start
        self._settings = settings
        self._runner = runner
        self._found: dict[str, tuple[str, ...]] = {}
        self.refused: set[str] = set()

    def words(self, candidate: Skill) -> tuple[str, ...]:
        """Return what was found of each sibling beside a candidate; nothing where none was measured."""
        return self._found.get(candidate.digest, ())

    def check(self, step: int, candidate: Skill) -> Generator[SiblingMeasured, None, str]:
        """Run the tasks of each sibling with both texts beside it."""
        words: list[str] = []
        with self._runner.using(self.kept):
            for sibling in self.protected:
                event = self._measure(step, sibling, candidate)
                yield event
                words.append(event.words)
                if event.fell:
                    self.refused.add(candidate.digest)
                    return words[-1]
        self._found[candidate.digest] = tuple(words)
        return ""

    def judge(self, step: int, candidate: Skill, verdict: Verdict) -> Generator[SiblingMeasured, None, Verdict]:
        """Turn the verdict that accepts a candidate into one that rejects it where a sibling falls."""
        if verdict.outcome is not Outcome.ACCEPT:
            return verdict
        fall = yield from self.check(step, candidate)
        if fall:
            return replace(verdict, outcome=Outcome.REJECT, reason=fall)
        return replace(verdict, reason="; ".join((verdict.reason, *self.words(candidate))))

    def _measure(self, step: int, sibling: Sibling, candidate: Skill) -> SiblingMeasured:
        if _lists_only(self._settings) and _listing(self._start) == _listing(candidate):
            kind = self._settings.harness.partition("/")[0]
            reason = f"{kind} shows other skills by name and description alone, which are the same: nothing was run"
            return SiblingMeasured(step, sibling.name, None, reason)
        order = list(sibling.tasks)
        Random(f"{self._settings.seed}/siblings/{sibling.name}").shuffle(order)
        sides = [_beside(self._start), _beside(candidate)]

        def run(tasks: Sequence[Task], look: int) -> Pairs:
            repeat = Stream.SIBLINGS.repeat(look)
            requests = [RolloutRequest(sibling.skill, task, repeat, beside=side) for side in sides for task in tasks]
            return Pairs.halves(self._runner.rollouts(requests))

        error = error_for_each(len(self.protected), self._settings.confidence)
        found = measure_harm(order, self._settings, run, error, f"sibling {sibling.name}")
        fell = found.verdict.outcome is Outcome.REJECT
        return SiblingMeasured(step, sibling.name, found.verdict, found.verdict.reason, fell, found.lowest)


def _lists_only(settings: Settings) -> bool:
    return bool(settings.targets) and all(name.partition("/")[0] in _LISTING_ONLY for name in settings.targets)


def _beside(skill: Skill) -> tuple[Skill, ...]:
    return (skill,) if skill.document.text or skill.files else ()


def _listing(skill: Skill) -> str:
    return listed_description(skill.document) if skill.document.text else ""
