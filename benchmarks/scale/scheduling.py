"""What the order of rollouts and hedging of stragglers are worth, by simulation of a batch on some workers.

Hedging: where a worker is idle, a rollout that has run for longer than 95% of the recorded rollouts of its task is
begun a second time, and the first of the two that ends counts. The other is ended, and what it cost is counted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import exp, fsum
from random import Random
from statistics import fmean
from typing import Final

from benchmarks.scale.page import paragraph

__all__ = ["Policy", "Scheduling", "markdown", "measure"]

_SEED: Final = 23
_TASKS: Final = 40
_WORKERS: Final = (8, 32)
_BY_TASK: Final = 0.8
"""Sigma of the log-normal mean seconds of tasks."""
_NOISES: Final = (0.3, 1.0)
"""Sigma of the log-normal seconds of a task's rollouts."""
_QUANTILE: Final = 1.645
"""Of the normal distribution, at 95%."""
_LONG_PASS: Final = 0.7
"""Share of rollouts longer than the median of their task that pass; of the others as many fail."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to run batches.

    Args:
        workers: Rollouts at a time.
        noise: Sigma of the seconds of a task's rollouts.
        name: What is done.
        seconds: Mean time of a batch, as a share of that in the order of the suite.
        cost: Mean seconds of rollouts, as a share of that without a second one.
        passed: Share of tasks passed.
    """

    workers: int
    noise: float
    name: str
    seconds: float
    cost: float
    passed: float


@dataclass(frozen=True, slots=True)
class Scheduling:
    """What was measured: every policy with every number of workers and noise."""

    batches: int
    policies: tuple[Policy, ...]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Mean seconds of tasks as recorded, seconds of a first and of a second rollout, and whether each passes."""

    medians: Sequence[float]
    drawn: tuple[Sequence[float], Sequence[float]]
    passes: tuple[Sequence[bool], Sequence[bool]]
    late: Sequence[float]


def measure(quick: bool) -> Scheduling:  # noqa: FBT001 - all measurements of scale are called like this
    """Simulate batches.

    Args:
        quick: A tenth of them.
    """
    batches = 200 if quick else 2_000
    found = list[Policy]()
    for noise in _NOISES:
        draw = Random(f"{_SEED} {noise}")
        made = [_batch(draw, noise) for _ in range(batches)]
        for workers in _WORKERS:
            base = [_simulate(one, range(_TASKS), workers, hedged=False) for one in made]
            for name, order, hedged in _POLICIES:
                ends = [_simulate(one, order(one), workers, hedged=hedged) for one in made]
                seconds, cost = (fsum(end[at] for end in ends) / fsum(end[at] for end in base) for at in (0, 1))
                found.append(Policy(workers, noise, name, seconds, cost, fmean(end[2] for end in ends)))
    return Scheduling(batches, tuple(found))


def markdown(result: Scheduling) -> str:
    """Write the table."""
    rows = [
        f"| {one.workers} | {one.noise:g} | {one.name} | {100 * one.seconds:.0f}% | {100 * one.cost:.0f}% | "
        f"{100 * one.passed:.1f}% |"
        for one in result.policies
    ]
    about = paragraph(
        f"{result.batches:,} simulated batches of {_TASKS} tasks each; mean seconds of tasks are log-normal (sigma",
        f"{_BY_TASK:g}), those of a task's rollouts too (sigma in the table). Of rollouts that take longer than the",
        f"median of their task, {100 * _LONG_PASS:.0f}% pass, of the others {100 * (1 - _LONG_PASS):.0f}%, as where a",
        f"target that gives up early fails; seed {_SEED}.",
    )
    table = "| workers | sigma | policy | time of a batch | cost | tasks passed |\n|---|---|---|---|---|---|"
    pairs = [result.policies[at + 1 : at + 3] for at in range(0, len(result.policies), len(_POLICIES))]
    saved = [1 - hedged.seconds / plain.seconds for plain, hedged in pairs]
    moved = max(abs(hedged.passed - plain.passed) for plain, hedged in pairs)
    why = paragraph(
        f"Batches begin longest first. Hedging would save up to {100 * max(saved):.0f}% of a batch's time where a",
        f"task's rollouts differ much in length, and {100 * min(saved):.0f}% where they do not. It is left out: the",
        "first of two rollouts that ends is the quicker one, so what is recorded is no random rollout of its task.",
        f"Here that moves the tasks passed by up to {100 * moved:.1f} percentage points; a draft that makes the target",
        "work longer can be moved by another amount than the version it is compared with.",
    )
    return "\n".join([about, "", table, *rows, "", why])


def _batch(draw: Random, noise: float) -> _Batch:
    medians = [draw.lognormvariate(0.0, _BY_TASK) for _ in range(_TASKS)]
    twice = [[draw.gauss(0.0, noise) for _ in medians] for _ in range(2)]
    first, second = ([m * exp(z) for m, z in zip(medians, row, strict=True)] for row in twice)
    one, two = ([draw.random() < (_LONG_PASS if z > 0 else 1 - _LONG_PASS) for z in row] for row in twice)
    late = [m * exp(_QUANTILE * noise) for m in medians]
    return _Batch(medians, (first, second), (one, two), late)


def _longest_first(batch: _Batch) -> Sequence[int]:
    return sorted(range(_TASKS), key=lambda at: -batch.medians[at])


def _as_asked(batch: _Batch) -> Sequence[int]:
    return range(len(batch.medians))


_POLICIES: Final[Sequence[tuple[str, Callable[[_Batch], Sequence[int]], bool]]] = (
    ("in the order of the suite", _as_asked, False),
    ("longest first", _longest_first, False),
    ("longest first, stragglers hedged", _longest_first, True),
)


def _simulate(batch: _Batch, order: Sequence[int], workers: int, *, hedged: bool) -> tuple[float, float, float]:
    """Give the seconds of a batch, those of all its rollouts, and the share of tasks passed."""
    waiting, free, numbers = list(reversed(order)), workers, count()
    now, cost, passed, done, begun = 0.0, 0.0, 0, set[int](), dict[int, list[float]]()
    events: list[tuple[float, int, int, int]] = []  # when, tie-breaker, task, which of its rollouts; 2 for "late"
    late = set[int]()
    while len(done) < len(order):
        while free and (waiting or (hedged and late)):
            task = waiting.pop() if waiting else late.pop()
            which = len(begun.setdefault(task, []))
            begun[task].append(now)
            free -= 1
            heappush(events, (now + batch.drawn[which][task], next(numbers), task, which))
            if hedged and not which:
                heappush(events, (now + batch.late[task], next(numbers), task, 2))
        now, _, task, which = heappop(events)
        if task in done:
            continue
        if which == 2:  # noqa: PLR2004 - as above
            late.add(task)
            continue
        done.add(task)
        late.discard(task)
        passed += batch.passes[which][task]
        cost += fsum(now - at for at in begun[task])
        free += len(begun[task])
    return now, cost, passed / len(order)
