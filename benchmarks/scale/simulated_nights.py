"""Simulated nights over a library of skills with planted truth, faults, and people who answer pull requests.

Which skills are due is decided by the product (`nightly.due`), and so is their order unless another one is tried, and
what the gate accepts, on simulated tasks. What a run costs, what its draft does, what people say and what fails is
drawn, the same for every order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapreplace
from math import exp, fsum
from random import Random
from statistics import fmean
from typing import Final, TypeAlias

from benchmarks.scale.gain_order import Candidate, PastRun
from skillopt.gate.sign_flip_test import mean_p_value
from skillopt.nightly.due import Due, DueFacts, why_due

__all__ = ["AT_ONCE", "MONTH", "MONTHS", "SKILLS", "MonthCount", "Order", "describe_world", "simulate"]

_SEED: Final = 29
SKILLS: Final = 200
MONTHS: Final = 4
MONTH: Final = 30
_RELEASES: Final = (30, 90)
"""The nights from which another model is configured."""
_SHARE: Final = 0.5
_DUE_DAYS: Final = 30.0
_TASKS: Final = 40
_CONFIDENCE: Final = 0.95
_TEACHABLE: Final = 0.6
_FINDS: Final = 0.7
_BAD_DRAFT: Final = 0.5
_FLIPS: Final = 0.05
_OUTAGE: Final = 0.05
_KILLED: Final = 0.03
_FAILS: Final = 0.05
_TEXT_CHANGED: Final = 0.005
_SUITE_CHANGED: Final = 0.005
_ANSWERED: Final = 1 / 3
_DECLINED: Final = 0.15
_DECLINED_FALSE: Final = 0.4
_CHANGED_BY_PEOPLE: Final = 0.1
_MEASURED_ANEW: Final = 0.1
"""Of the cost of a run, for a pull request on which people committed."""
_USD: Final = 1.65
_USD_AN_HOUR: Final = 0.8
AT_ONCE: Final = 8


@dataclass(slots=True)
class _Skill:
    """A skill and its planted truth.

    Args:
        name: Its name, and that of its library.
        score: Its true share of tasks passed.
        ceiling: The share that edits can bring it to; its score where none help.
        cost: Median dollars of a run.
        trained: Night, target and suite of its last run that ended.
        changed: Whether people changed its text since.
        measured: Its score as measured last.
        left: Dollars that its unfinished run still costs.
        spent: Dollars that it has cost.
        offered: True gain of its open pull request, None for none.
    """

    name: str
    score: float
    ceiling: float
    cost: float
    target: str = "model 1"
    suite: str = "suite 0"
    trained: tuple[int, str, str] | None = None
    changed: bool = False
    measured: float | None = None
    runs: list[tuple[PastRun, str, str]] = field(default_factory=list)
    left: float = 0.0
    spent: float = 0.0
    offered: float | None = None

    def facts(self, night: int) -> DueFacts:
        """Give what decides whether it is due."""
        days = None if self.trained is None else float(night - self.trained[0])
        on, suite = self.trained[1:] if self.trained else ("", "")
        begun = "it was stopped" if self.left else ""
        return DueFacts(self.name, self.target, self.suite, begun, days, on, suite, self.changed, self.measured)

    def candidate(self, due: Due) -> Candidate:
        """Give what is recorded of it."""
        here = self.target, self.suite
        runs = (replace(run, same=(on, suite) == here) for run, on, suite in self.runs[-8:])
        return Candidate(due, tuple(runs), self.spent if self.left else 0.0)


@dataclass(slots=True)
class MonthCount:
    """What a month came to; the fields of `MonthRow`, with hours by night."""

    usd: float = 0.0
    runs: int = 0
    opened: int = 0
    false: int = 0
    merged: int = 0
    declined: int = 0
    edited: int = 0
    gained: float = 0.0
    waiting: int = 0
    hours: list[float] = field(default_factory=list)
    together: list[float] = field(default_factory=list)


Order: TypeAlias = Callable[[Sequence[Candidate]], list[Due]]


def describe_world() -> tuple[str, ...]:
    """Say what is simulated, in sentences."""
    draws = (
        f"Before the first night nothing is recorded; from nights {' and '.join(map(str, _RELEASES))} another model is",
        "configured, so that every skill is stale.",
        f"Planted truth: edits can improve {_TEACHABLE:.0%} of the skills, and a run on one of those finds such edits",
        f"in {_FINDS:.0%} of cases; of other runs {_BAD_DRAFT:.0%} end with a draft that does harm, the others with",
        "none.",
        f"A run costs ${_USD:g} in the median (log-normal over skills, sigma 0.6), and an hour of it",
        f"${_USD_AN_HOUR:.2f}.",
        f"The gate is the product's paired test at {_CONFIDENCE:.0%} on {_TASKS} tasks, of which {_FLIPS:.0%} turn out",
        "the other way round.",
    )
    faults = (
        f"Faults: in {_OUTAGE:.0%} of nights the provider goes down for the rest of it, {_KILLED:.0%} are killed,",
        f"{_FAILS:.0%} of runs break off and go on later. People change {_TEXT_CHANGED:.1%} of texts and",
        f"{_SUITE_CHANGED:.1%} of suites a day, close {_DECLINED:.0%} of pull requests ({_DECLINED_FALSE:.0%} of false",
        f"ones: those whose text is truly no better), and commit to {_CHANGED_BY_PEOPLE:.0%} of those they merge.",
    )
    return *draws, *faults


def simulate(library: int, budget: float, order: Order | None) -> list[MonthCount]:
    """Simulate the months of one library.

    Args:
        library: Its number; what is drawn follows from that.
        budget: Dollars a night.
        order: In which skills have their turns; None for most true gain per dollar first.
    """
    skills = [_draw(f"{_SEED} {library} {number:03}") for number in range(SKILLS)]
    months = [MonthCount() for _ in range(MONTHS)]
    for night in range(MONTHS * MONTH):
        count = months[night // MONTH]
        for skill in skills:
            _pass_day(skill, night, count)
        due = [skill.candidate(found) for skill in skills if (found := why_due(skill.facts(night), _DUE_DAYS))]
        by_name = {skill.name: skill for skill in skills}
        names = [one.facts.skill for one in order(due)] if order else [one.due.facts.skill for one in due]
        turns = [by_name[name] for name in names]
        begun = _train(turns if order else sorted(turns, key=_truth), _Night(night, budget, library), count)
        count.waiting += len(due) - begun
    return months


def _draw(name: str) -> _Skill:
    draw = Random(name)
    score, teachable = draw.betavariate(3, 2), draw.random() < _TEACHABLE
    ceiling = score + (1 - score) * draw.uniform(0.3, 1.0) if teachable else score
    return _Skill(name, score, ceiling, _USD * exp(draw.gauss(0.0, 0.6)))


def _pass_day(skill: _Skill, night: int, count: MonthCount) -> None:
    """Let people answer a pull request, change texts and suites, and configure another model."""
    draw = Random(f"{skill.name} day {night}")
    answered, changed, suite, declined, edited, by = (draw.random() for _ in range(6))
    if skill.offered is not None and answered < _ANSWERED:
        if declined < (_DECLINED_FALSE if skill.offered <= 0 else _DECLINED):
            count.declined += 1
            skill.score -= skill.offered
        else:
            count.merged += 1
            count.edited += edited < _CHANGED_BY_PEOPLE
            count.usd += _MEASURED_ANEW * skill.cost if edited < _CHANGED_BY_PEOPLE else 0.0
            count.gained += 100 * skill.offered
        skill.offered = None
    if changed < _TEXT_CHANGED:
        skill.changed, skill.score = True, _bounded(skill.score + 0.2 * (by - 0.5))
    if suite < _SUITE_CHANGED:
        skill.suite = f"suite {night}"
    if night in _RELEASES:
        skill.target, shift = f"model of night {night}", draw.gauss(-0.05, 0.1)
        skill.score, skill.ceiling = _bounded(skill.score + shift), _bounded(skill.ceiling + shift / 2)


def _truth(skill: _Skill) -> float:
    return -(skill.ceiling - skill.score) / (skill.left or skill.cost)


def _bounded(share: float) -> float:
    return min(1.0, max(0.0, share))


@dataclass(slots=True)
class _Night:
    """A night: its number, its dollars and its library, and what of the dollars is spent."""

    number: int
    budget: float
    library: int
    spent: float = 0.0


def _train(turns: Sequence[_Skill], night: _Night, count: MonthCount) -> int:
    """Train skills until the budget is used up, or the provider or the machine fails; give how many were begun."""
    draw = Random(f"{_SEED} {night.library} night {night.number}")
    outage, killed, at = draw.random() < _OUTAGE, draw.random() < _KILLED, draw.random()
    ends = night.budget * (at if outage or killed else 1.0)
    hours = list[float]()
    for number, skill in enumerate(turns, 1):
        if night.spent >= ends:
            break
        share = 1.0 if number == len(turns) else _SHARE
        hours.append(_run(skill, night, min(night.budget * share, ends - night.spent), count) / _USD_AN_HOUR)
    count.usd += night.spent
    count.hours.append(fsum(hours))
    count.together.append(_makespan(hours))
    return len(hours)


def _makespan(hours: Sequence[float]) -> float:
    """Give the hours of a night with several skills at a time."""
    ends = [0.0] * AT_ONCE
    for one in hours:
        heapreplace(ends, ends[0] + one)
    return max(ends)


def _run(skill: _Skill, night: _Night, cap: float, count: MonthCount) -> float:
    """Begin a run or go on with one, up to a cap in dollars; give what that cost."""
    draw = Random(f"{skill.name} run {len(skill.runs)}")
    cost = skill.cost * exp(draw.gauss(0.0, 0.3))
    fault = Random(f"{skill.name} fault {night.number}")
    if not skill.left:
        skill.left, skill.spent = cost, 0.0
    paid = min(skill.left, cap)
    if fault.random() < _FAILS:
        paid *= fault.random()
    night.spent += paid
    skill.spent += paid
    skill.left = max(0.0, skill.left - paid) if paid < skill.left else 0.0
    if not skill.left:
        _finish(skill, night.number, draw, count)
    return paid


def _finish(skill: _Skill, night: int, draw: Random, count: MonthCount) -> None:
    """Gate what a run came to by the paired test of the product, on simulated tasks, and offer what is accepted."""
    found, bad, share, harm = (draw.random() for _ in range(4))
    gain = -0.1 * harm if bad < _BAD_DRAFT else 0.0
    if skill.ceiling > skill.score and found < _FINDS:
        gain = (0.4 + 0.6 * share) * (skill.ceiling - skill.score)
    hard = [draw.random() for _ in range(_TASKS)]
    before, after = (
        [(draw.random() < _FLIPS) != (one < true) for one in hard] for true in (skill.score, skill.score + gain)
    )
    accepted = mean_p_value([new - old for old, new in zip(before, after, strict=True)], _CONFIDENCE) <= 1 - _CONFIDENCE
    was, now = fmean(before), fmean(after)
    gained = (now - was) / (1 - was) if accepted else 0.0
    skill.runs.append((PastRun(gained, skill.spent), skill.target, skill.suite))
    skill.trained, skill.changed, skill.spent = (night, skill.target, skill.suite), False, 0.0
    skill.measured = now if accepted else was
    count.runs += 1
    if accepted:
        count.opened += skill.offered is None
        count.false += gain <= 0
        skill.score += gain
        skill.offered = (skill.offered or 0.0) + gain
