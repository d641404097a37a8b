"""Did a change hurt? A sequential rule that runs the new text first, on tasks that the record of the old text passes.

The record only chooses tasks and may withhold a `passed`. A refusal rests on fresh runs alone: pairs of an old and a
new run of one task, made after the task became suspicious. Without harm a pair that differs is lost or won with even
odds, whatever the task, the target of today and the order of runs, so planned looks bound wrong refusals.
`python -m benchmarks.change_gate` simulates it; constants were chosen there on seeds below 1,000.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Final

_PASSES: Final = 0.75
"""Share of recorded runs from which on a task surely passes; from half on it is watched, and looked at again before it
counts. Of tasks that pass 9 runs in 10, 8 recorded runs find 96% sure, and 2 find 81%."""

_BATCH: Final = 4
"""Tasks that run at once before suspicions are followed up: with 12 at once, a change that breaks half of 24 tasks took
33 rollouts in place of 24."""

_AGAIN: Final = 2
"""Least pairs at once where tasks are suspicious."""

_LOOKS: Final = ((6, 0), (11, 1))
"""Pairs that differ at each look at suspicious tasks, and how many of them the new text may win."""

_ALL_LEVEL: Final = 0.0014
"""Level of the one look at pairs of all tasks."""

WRONG_REFUSAL: Final = 1 / 2**6 + 6 / 2**11 + _ALL_LEVEL
"""Greatest chance that a change without harm is refused: that of both looks, and of the one at all tasks."""

_FAILURES: Final = 2
"""Failures, more than passes, that make a task suspicious; so many passes or failures of fresh runs clear it."""

_MOST_PAIRS: Final = 16
"""Pairs on suspicious tasks after which it stays open."""

_FALL: Final = 0.25
"""Fall of the share passed by all tasks together that is looked for, by the likelihood ratio of it. Looking for .20
took two rollouts more to pass 24 tasks at the same chance to pass a fall of .20."""

_FEWEST: Final = 8
"""The fall is ruled out by a ratio (Wald 1945) of one to the number of tasks that surely pass, or to this: of 24
tasks that lost .20 each, 24% pass, at 19 rollouts a harmless change; .03 makes it 17% at 24 rollouts."""

_SHOWN: Final = math.log(10)
"""Ratio above which all tasks run with both texts."""

_ROUNDS: Final = 6
"""Most runs of each task for this ratio."""

_RATES: Final = (0.5, 0.97)
"""Bounds of the share passed that a short record can suggest."""


class Side(StrEnum):
    """Which text is run."""

    OLD = "old"
    NEW = "new"


class WatchEnding(StrEnum):
    """How the rule ended, and why."""

    PASSED = "passed"
    BROKEN = "broken"
    LOWER = "lower"
    UNSURE = "unsure"
    TARGET_CHANGED = "target changed"


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """Runs of the old text on a task that are on record, and how many passed."""

    passed: int
    runs: int

    @property
    def watched(self) -> bool:
        """Whether the task passes often enough to be watched."""
        return 0 < self.runs <= 2 * self.passed

    @property
    def sure(self) -> bool:
        """Whether it surely passes."""
        return self.runs > 0 and self.passed >= _PASSES * self.runs


Batch = tuple[tuple[Side, str], ...]
"""Runs to make at once: which text on which task."""

Outcomes = Sequence[bool | None]
"""Whether each run passed; None for one that was not measured."""


@dataclass(frozen=True, slots=True)
class WatchFinding:
    """How the rule ended, the tasks it watched, those it broke, and those that the old text fails now.

    The last look was at the pairs from one place to another, of which those count that differ, at some level.
    """

    ending: WatchEnding
    watched: tuple[str, ...]
    broken: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    tested: tuple[int, int | None] = (0, None)
    level: float = 1 / 2**6


def watched_tasks(record: Mapping[str, TaskRecord]) -> tuple[str, ...]:
    """List the tasks whose loss could be seen; none where no task surely passes."""
    watched = tuple(task for task, row in record.items() if row.watched)
    return watched if any(record[task].sure for task in watched) else ()


def usual_share(record: Mapping[str, TaskRecord]) -> float:
    """Estimate how often a task passes that surely does: a run counts where the other runs would choose its task.

    >>> round(usual_share({"a": TaskRecord(8, 8), "b": TaskRecord(7, 8), "c": TaskRecord(0, 8)}), 4)
    0.9375
    """
    passed = counted = 0
    for row in record.values():
        others = row.runs - 1
        passes = row.passed if others > 0 and row.passed - 1 >= _PASSES * others else 0
        passed += passes
        counted += passes + (row.runs - row.passed if others > 0 and row.passed >= _PASSES * others else 0)
    low, high = _RATES
    return min(high, max(low, passed / counted)) if counted else high


def tasks_to_record(record: Mapping[str, TaskRecord], tasks: Sequence[str], most: int) -> tuple[str, ...]:
    """List the tasks that the record lacks a run of: each once, then those that pass until there are so many."""
    rows = {task: record.get(task, TaskRecord(0, 0)) for task in tasks}
    return tuple(task for task, row in rows.items() if not row.runs or (row.watched and row.runs < most))


def follow(
    record: Mapping[str, TaskRecord],
    order: Sequence[str],
    run: Callable[[Batch], Outcomes],
    families: Mapping[str, str] | None = None,
) -> WatchFinding:
    """Run tasks, batch by batch, until it is decided whether the new text does harm.

    Tasks are watched in order; of a family, whose tasks fail together, one speaks for all where both texts run.
    """
    watches = [_Watch(task, (families or {}).get(task, task), record[task].sure) for task in order if task in record]
    watches = [one for one in watches if record[one.task].watched]
    sure = [one for one in watches if one.sure]
    return _Follow([*sure, *(one for one in watches if not one.sure)], usual_share(record), run).follow()


@dataclass(slots=True)
class _Watch:
    """A task that is watched: first runs of the new text, then fresh ones of both where it was suspicious."""

    task: str
    family: str
    sure: bool
    passed: int = 0
    failed: int = 0
    old: list[bool] = field(default_factory=list)
    new: list[bool] = field(default_factory=list)
    dropped: bool = False

    @property
    def open(self) -> bool:
        """Whether it runs again at first: it did not run, or failed once."""
        return not (self.passed or self.dropped) and self.failed < _FAILURES

    @property
    def suspicious(self) -> bool:
        failing = self.failed >= max(_FAILURES, self.passed + 1)
        cleared = self.new.count(True) >= max(_FAILURES, self.new.count(False))
        return failing and not (self.dropped or self.moved or cleared)

    @property
    def moved(self) -> bool:
        return self.old.count(False) >= max(_FAILURES, self.old.count(True))


class _Follow:
    """The rule at work."""

    def __init__(self, watches: list[_Watch], usual: float, run: Callable[[Batch], Outcomes]) -> None:
        self._watches, self._run = watches, run
        self._sure = [one for one in watches if one.sure]
        self._usual = usual
        self._weights = math.log((1 - usual + _FALL) / (1 - usual)), math.log((usual - _FALL) / usual)
        self._ruled_out = -math.log(max(_FEWEST, len(self._sure)))
        self._pairs: list[tuple[_Watch, bool, bool]] = []
        self._tested: tuple[int, int | None] = (0, None)
        self._level = tail_chance(*_LOOKS[0])

    def follow(self) -> WatchFinding:
        for start in range(0, len(self._watches), _BATCH):
            while tasks := [one for one in self._watches[start : start + _BATCH] if one.open]:
                self._try(tasks)
            if ending := self._suspects():
                return self._found(ending)
        rest = self._sure * (_ROUNDS - 1)
        while rest and self._ruled_out < self._ratio < _SHOWN:
            # So many must pass before it can be ruled out, so they run at once.
            needed = min(len(self._sure), math.ceil((self._ruled_out - self._ratio) / self._weights[True]))
            self._try(rest[:needed])
            del rest[:needed]
            if ending := self._suspects():
                return self._found(ending)
        if self._ratio <= self._ruled_out:
            return self._found(WatchEnding.PASSED)
        return self._found(self._all())

    @property
    def _ratio(self) -> float:
        """The logarithm of the likelihood ratio of a fall; a task that the old text fails now says nothing of one."""
        counted = [one for one in self._sure if not one.moved]
        fails, passes = self._weights
        lost = sum(one.failed + one.new.count(False) for one in counted)
        return fails * lost + passes * (sum(one.passed + len(one.new) + one.failed for one in counted) - lost)

    def _try(self, watches: Sequence[_Watch]) -> None:
        """Run the new text."""
        outcomes = self._run(tuple((Side.NEW, one.task) for one in watches))
        for one, passed in zip(watches, outcomes, strict=True):
            if passed is None:
                one.dropped = True  # the gate says how much was not measured
                continue
            one.passed, one.failed = one.passed + passed, one.failed + (not passed)

    def _suspects(self) -> WatchEnding | None:
        """Run both texts on suspicious tasks until the new one is seen to break them, or not to."""
        weak = [one for one in self._watches if one.suspicious and not (one.sure or one.old)]
        if weak:  # a short record may be luck; this run is in no pair
            outcomes = self._run(tuple((Side.OLD, one.task) for one in weak))
            for one, passed in zip(weak, outcomes, strict=True):
                one.dropped = not passed
        while suspects := list({one.family: one for one in reversed(self._watches) if one.suspicious}.values()):
            if len(self._pairs) >= _MOST_PAIRS:
                return WatchEnding.UNSURE
            self._both((suspects * _AGAIN)[: max(_AGAIN, min(len(suspects), _BATCH))])
            places = [at for at, (_, old, new) in enumerate(self._pairs) if old != new]
            for count, won in _LOOKS:
                if len(places) >= count:
                    self._tested, self._level = (0, places[count - 1] + 1), tail_chance(count, won)
                    if sum(self._pairs[at][2] for at in places[:count]) <= won:
                        return WatchEnding.BROKEN
            if len(places) >= _LOOKS[-1][0]:
                return WatchEnding.UNSURE
        return None

    def _both(self, watches: Sequence[_Watch]) -> None:
        outcomes = self._run(tuple((side, one.task) for one in watches for side in Side))
        for one, old, new in zip(watches, outcomes[::2], outcomes[1::2], strict=True):
            if old is None or new is None:
                one.dropped = True
            else:
                one.old.append(old)
                one.new.append(new)
                self._pairs.append((one, old, new))

    def _all(self) -> WatchEnding:
        """Run both texts on all tasks that surely pass, where the share passed fell and so many could show it."""
        tasks = list({one.family: one for one in self._sure}.values())
        if self._ratio < _SHOWN or 0.5 ** len(tasks) > _ALL_LEVEL:
            return WatchEnding.UNSURE
        first = len(self._pairs)
        self._both(tasks)
        fresh = self._pairs[first:]
        differing = [new for _, old, new in fresh if old != new]
        self._tested, self._level = (first, len(self._pairs)), _ALL_LEVEL
        if tail_chance(len(differing), sum(differing)) <= _ALL_LEVEL:
            return WatchEnding.LOWER
        olds = [old for _, old, _ in fresh]
        if not olds or sum(olds) >= (self._usual - _FALL / 2) * len(olds):
            return WatchEnding.UNSURE
        return WatchEnding.PASSED if 2 * sum(differing) >= len(differing) else WatchEnding.TARGET_CHANGED

    def _found(self, ending: WatchEnding) -> WatchFinding:
        broken = {one.task: one for one, old, new in self._pairs if old and not new and not one.moved}
        return WatchFinding(
            ending,
            tuple(one.task for one in self._watches),
            tuple(broken) if ending in (WatchEnding.BROKEN, WatchEnding.LOWER) else (),
            tuple(one.task for one in self._watches if one.moved),
            tested=self._tested,
            level=self._level,
        )


def tail_chance(differing: int, won: int) -> float:
    """Return the chance that so few of the pairs that differ are won, where each is with even odds."""
    return sum(math.comb(differing, count) for count in range(won + 1)) / 2.0**differing


def chance_to_pass(record: Mapping[str, TaskRecord], lost: int, random: Random, changes: int = 300) -> float:
    """Estimate how often a change passes that breaks so many of the watched tasks, others being as they are."""
    watched = [task for task in watched_tasks(record) if record[task].sure]
    usual, passed = usual_share(record), 0
    for _ in range(changes):
        broken = set(random.sample(watched, min(lost, len(watched))))

        def run(batch: Batch, broken: Collection[str] = broken) -> Outcomes:
            rates = [1 - usual if side is Side.NEW and task in broken else usual for side, task in batch]
            return [random.random() < rate for rate in rates]

        passed += follow(record, random.sample(watched, len(watched)), run).ending is WatchEnding.PASSED
    return passed / changes
