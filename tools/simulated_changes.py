"""Simulated changes, judged by the rule that starts from a record.

Half of the tasks pass 9 runs of 10 with the old text, the others 1 of 10; a change breaks some of those that pass,
which then pass 1 of 10.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from skillopt.review.one_sided import Side, TaskRecord, WatchEnding, follow, tasks_to_record

_FLIPS = 0.1
_REFUSED = (WatchEnding.BROKEN, WatchEnding.LOWER)
GATES = 20


@dataclass(frozen=True, slots=True)
class World:
    """A project of tasks, and what a change does: the old text's rates on record and now, and the new text's."""

    name: str
    tasks: int
    breaks: float = 0.0
    everywhere: float = 0.0
    drift: float = 0.0
    record: int = 8
    family: int = 1
    named: bool = False
    flips: float = _FLIPS

    def draw(self, random: Random) -> "_Drawn":
        """Draw a change."""
        passing = [number // self.family % 2 == 0 for number in range(self.tasks)]
        old = [abs(passes - self.flips) for passes in passing]
        now = [min(1.0, max(0.0, rate + self.drift)) for rate in old]
        new = [max(0.02, rate - self.everywhere) if passes else rate for rate, passes in zip(now, passing, strict=True)]
        whole = [number for number, passes in enumerate(passing) if passes]
        for number in random.sample(whole, round(self.breaks * len(whole))):
            new[number] = self.flips
        return _Drawn(old, {Side.OLD: now, Side.NEW: new}, self.family, random, self.named)


@dataclass(frozen=True, slots=True)
class _Drawn:
    recorded: Sequence[float]
    rates: Mapping[Side, Sequence[float]]
    family: int
    random: Random
    named: bool

    def record(self, runs: int) -> dict[str, TaskRecord]:
        """Run the old text as often on every task."""
        passed = [0] * len(self.recorded)
        for _ in range(runs):
            luck = [self.random.random() for _ in range(len(self.recorded) // self.family + 1)]
            passed = [
                count + (luck[number // self.family] < self.recorded[number]) for number, count in enumerate(passed)
            ]
        return {str(number): TaskRecord(count, runs) for number, count in enumerate(passed)}

    def runs(
        self,
        batch: Sequence[tuple[Side, str]],
        seen: dict[tuple[Side, int, int], float],
        counts: Counter[tuple[Side, str]],
    ) -> list[bool]:
        """Run what is asked for; the tasks of a family share their luck."""
        outcomes = []
        for side, task in batch:
            number = int(task)
            place = (side, number // self.family, counts[side, task])
            counts[side, task] += 1
            outcomes.append(seen.setdefault(place, self.random.random()) < self.rates[side][number])
        return outcomes


def gate(drawn: _Drawn, record: Mapping[str, TaskRecord]) -> tuple[WatchEnding, int]:
    """Gate a change; return how it ended, and the rollouts."""
    order = [*record]
    drawn.random.shuffle(order)
    families = {task: str(int(task) // drawn.family) for task in order} if drawn.named else {}
    seen, counts = dict[tuple[Side, int, int], float](), Counter[tuple[Side, str]]()
    finding = follow(record, order, lambda batch: drawn.runs(batch, seen, counts), families)
    return finding.ending, counts.total()


def rates(world: World, runs: int, seed: int) -> tuple[float, float, float]:
    """Return the shares of changes that are passed and refused, and mean rollouts."""
    random = Random(f"{seed}/{world}")
    found = []
    for _ in range(runs):
        drawn = world.draw(random)
        found.append(gate(drawn, drawn.record(world.record)))
    passed, refused = (fmean(ending in wanted for ending, _ in found) for wanted in ((WatchEnding.PASSED,), _REFUSED))
    return passed, refused, fmean(asked for _, asked in found)


def two_wrong(runs: int, seed: int) -> float:
    """Return the share of repositories that see two wrong refusals in 20 harmless changes, judged by one record."""
    random, found = Random(f"{seed}/repositories"), 0
    for _ in range(runs):
        drawn = World("", 24).draw(random)
        record = drawn.record(8)
        found += sum(gate(drawn, record)[0] in _REFUSED for _ in range(GATES)) > 1
    return found / runs


def merged_change(runs: int, seed: int, breaks: float = 0.0) -> tuple[float, float, float, float]:
    """Judge by a record that a push made; return shares passed and refused, and rollouts of a gate and of a record."""
    random, found, recorded = Random(f"{seed}/merged/{breaks}"), [], []
    world = World("", 24, breaks)
    for _ in range(runs):
        drawn, record, made = world.draw(random), dict[str, TaskRecord](), 0
        while tasks := tasks_to_record(record, [str(number) for number in range(world.tasks)], 2):
            for task in tasks:
                known = record.get(task, TaskRecord(0, 0))
                record[task] = TaskRecord(known.passed + (random.random() < drawn.recorded[int(task)]), known.runs + 1)
            made += len(tasks)
        recorded.append(made)
        found.append(gate(drawn, record))
    passed, refused = (fmean(ending in wanted for ending, _ in found) for wanted in ((WatchEnding.PASSED,), _REFUSED))
    return passed, refused, fmean(asked for _, asked in found), fmean(recorded)
