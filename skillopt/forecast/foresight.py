"""What a training would take and show: the real loop on stand-ins for the tasks of a suite, many times, in memory."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean
from typing import Final

from skillopt.forecast.proposer import START, answer_prompt, said_in
from skillopt.forecast.world import FeedbackKind, StartingRates, World, draw_world
from skillopt.gate.grades import Grade
from skillopt.loop.events import DraftGraded, Event, RunEnded, VersionAccepted
from skillopt.loop.optimizer import train
from skillopt.loop.siblings import Sibling
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory, Usage
from skillopt.runs.prospect import parts_of
from skillopt.safety.lint import UNCHECKED
from skillopt.settings import Metric, Settings
from skillopt.tasks import JUDGED_KINDS, Suite, Task, VerifierSpec

__all__ = ["CallCost", "Foresight", "MostLikely", "Trained", "foresee", "foresight_line", "price_words", "range_words"]

_OUTER: Final = 0.1
"""Share of simulated runs below a range and share above it."""

_BETTER: Final = 1e-9
_HOUR: Final = 60
_RANK: Final = (Grade.WORSE, Grade.UNPROVEN, Grade.PROVEN_HERE, Grade.PROVEN)


@dataclass(frozen=True, slots=True)
class CallCost:
    """Mean consumption of a rollout or an optimizer call; `spread` is the standard deviation of its logarithm."""

    tokens: float
    usd: float | None
    seconds: float | None
    spread: float = 0.0

    def times(self, factor: float) -> "CallCost":
        """Return the cost multiplied by a factor."""
        usd, seconds = (one if one is None else factor * one for one in (self.usd, self.seconds))
        return CallCost(factor * self.tokens, usd, seconds)


@dataclass(frozen=True, slots=True)
class MostLikely:
    """A median, and the range that holds eight of ten simulated runs."""

    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Foresight:
    """Consumption and results of simulated runs."""

    runs: int
    rollouts: MostLikely
    calls: MostLikely
    minutes: MostLikely | None
    tokens: MostLikely
    usd: MostLikely | None
    better: float
    proven: float
    here: float
    capped: float

    @property
    def time(self) -> str:
        """The duration in words; empty where it is unknown."""
        if self.minutes is None:
            return ""
        median, low, high = map(_duration, (self.minutes.median, self.minutes.low, self.minutes.high))
        return median if low == high else f"{median} ({low} to {high})"


@dataclass(frozen=True, slots=True)
class Trained:
    """Suite, settings and protected siblings of a training."""

    suite: Suite
    settings: Settings
    siblings: tuple[Sibling, ...] = ()


def foresight_line(likely: Foresight) -> str:
    """Return the likely consumption of a run in one line."""
    parts = [f"about {range_words(likely.rollouts)} rollouts", f"{range_words(likely.calls)} optimizer calls"]
    return ", ".join(filter(None, [*parts, likely.time, price_words(likely)]))


def range_words(found: MostLikely) -> str:
    """Return a median and its range in words."""
    return f"{found.median:.0f} ({found.low:.0f} to {found.high:.0f})"


def price_words(likely: Foresight) -> str:
    """Return the likely cost in dollars; empty where no price is known."""
    found = likely.usd
    return f"${found.median:,.2f} (${found.low:,.2f} to ${found.high:,.2f})" if found else ""


def _duration(minutes: float) -> str:
    if minutes < 1:
        return "under 1 min"
    whole = round(minutes)
    return f"{minutes:.0f} min" if whole < _HOUR else f"{whole // _HOUR} h {whole % _HOUR:02}"


def foresee(
    trained: Trained, start: StartingRates, rights: Sequence[float], costs: tuple[CallCost, CallCost], runs: int
) -> Foresight:
    """Simulate runs of a training by optimizer models with such shares of right proposals, and sum them up."""
    plain = _stand_in(trained)
    partial = trained.settings.metric is not Metric.HARD and max(parts_of(task) for _, task in trained.suite.splits) > 1
    return _sum_up(
        [_simulate(plain, start, right, costs, at, partial=partial) for at in range(runs) for right in rights]
    )


def _stand_in(trained: Trained) -> Trained:
    """Return tasks with the same ids, and splits that say nothing, so that simulating is quick."""

    def plain(task: Task, name: str) -> Task:
        kind = "rubric" if task.verifier.kind in JUDGED_KINDS else "exact"
        return Task(name, name, VerifierSpec(kind), tags=task.tags)

    def plainly(tasks: Iterable[Task]) -> tuple[Task, ...]:
        return tuple(plain(task, task.id) for task in tasks)

    suite = trained.suite
    folds = suite.folds and (plainly(suite.folds[0]), plainly(suite.folds[1]))
    splits = tuple((split, plain(task, task.id)) for split, task in suite.splits)
    siblings = (  # the suite may have tasks with the same ids
        replace(one, skill=START, tasks=tuple(plain(task, f"beside {one.name}/{task.id}") for task in one.tasks))
        for one in trained.siblings
    )
    return Trained(Suite(suite.name, splits, folds), trained.settings, tuple(siblings))


@dataclass(frozen=True, slots=True)
class _Run:
    """Consumption and result of one simulated run."""

    rollouts: int
    calls: int
    cost: CallCost
    capped: bool
    gain: float
    grade: Grade | None


def _simulate(
    plain: Trained,
    start: StartingRates,
    right: float,
    costs: tuple[CallCost, CallCost],
    number: int,
    *,
    partial: bool,
) -> _Run:
    """Train in a world drawn by a number; the same arguments give the same run."""
    draw = Random(f"{number}/{right}")
    world = draw_world([task for _, task in plain.suite.splits], start, right, draw, partial=partial)
    beside = [task for one in plain.siblings for task in one.tasks]
    others = draw_world(beside, StartingRates(), right, Random(f"{number}/siblings"), partial=partial)
    rollout, call = (cost.times(math.exp(draw.gauss(0.0, cost.spread))) for cost in costs)
    runner = _SimulatedRunner((world, others), number, (rollout, call), plain.settings.workers)
    quick = {"seed": number, "scan_leaks": False, "allow": UNCHECKED}
    events = train(START, plain.suite, plain.settings.model_copy(update=quick), runner, siblings=plain.siblings)
    text, grade, reason = _outcome(events)
    gain = world.pass_rate(*said_in(text)) - world.pass_rate(frozenset(), 0)
    made, asked = len(runner.ran), len(runner.replied)
    usd = None if rollout.usd is None or call.usd is None else made * rollout.usd + asked * call.usd
    seconds = None if rollout.seconds is None or call.seconds is None else runner.seconds
    cost = CallCost(made * rollout.tokens + asked * call.tokens, usd, seconds)
    return _Run(made, asked, cost, "cap" in reason or "max_" in reason, gain, grade)


def _outcome(events: Iterable[Event]) -> tuple[str, Grade | None, str]:
    """Return the last text of a run, its grade, and why the run ended."""
    text, grade, reason = START.document.text, None, ""
    for event in events:
        match event:
            case VersionAccepted():
                text, grade = event.text, event.grading.grade if event.grading else Grade.PROVEN
            case DraftGraded():
                text, grade = event.text, max(grade or event.grading.grade, event.grading.grade, key=_RANK.index)
            case RunEnded():
                reason = event.reason
            case _:
                pass
    return text, grade, reason


class _SimulatedRunner:
    """Answers the loop as target and optimizer model would in a world; each question is paid for once."""

    def __init__(
        self,
        worlds: tuple[World, World],
        seed: int,
        costs: tuple[CallCost, CallCost],
        workers: int,
    ) -> None:
        self._worlds, self._seed, self._costs, self._workers = worlds, seed, costs, workers
        self._usages = [Usage(1, round(cost.tokens), 0, cost.usd) for cost in costs]
        self._texts: dict[str, tuple[frozenset[int], int]] = {}
        self.ran: dict[tuple[str, str, int], Rollout] = {}
        self.replied: dict[str, Reply] = {}
        self.seconds = 0.0

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run the rollouts that were not run before."""
        keyed = {(request.digest, request.task.id, request.repeat): request for request in requests}
        fresh = {key: self._run(request) for key, request in keyed.items() if key not in self.ran}
        self._wait(len(fresh), self._costs[0])
        self.ran |= fresh
        return tuple(self.ran[request.digest, request.task.id, request.repeat] for request in requests)

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:  # noqa: ARG002 - read from the prompt
        """Answer the prompts that were not answered before."""
        asked = tuple(prompts)
        fresh = [prompt for prompt in dict.fromkeys(asked) if prompt not in self.replied]
        self._wait(len(fresh), self._costs[1])
        for prompt in fresh:
            text = answer_prompt(self._worlds[0], self._seed, prompt)
            self.replied[prompt] = Reply(text, self._usages[1])
        return tuple(self.replied[prompt] for prompt in asked)

    def _wait(self, calls: int, cost: CallCost) -> None:
        """Let a batch of calls pass, as many at a time as there are workers."""
        self.seconds += -(-calls // self._workers) * (cost.seconds or 0.0)

    def _run(self, request: RolloutRequest) -> Rollout:
        """Run a task under a text."""
        task, digest = request.task, request.digest
        world = self._worlds[task.id not in self._worlds[0].needs]
        if digest not in self._texts:
            self._texts[digest] = said_in(request.skill.document.text) if request.skill else (frozenset(), 0)
        draw = Random(f"{self._seed}/{digest}/{task.id}/{request.repeat}")
        done = [draw.random() < chance for chance in world.chances(task.id, *self._texts[digest])]
        value = fmean(done) if world.partial else float(all(done))
        failed = [need for need, well in zip(world.needs[task.id] or (None,), done, strict=True) if not well]
        score = Score(value, all(done), "\n".join(_symptom(world, task.id, need) for need in failed))
        return Rollout(task.id, digest, request.repeat, Trajectory(usage=self._usages[0]), Status.OK, score)


def _symptom(world: World, task: str, need: int | None) -> str:
    """Return the feedback on a part that failed."""
    if world.feedback is FeedbackKind.MUTE:
        return "not as expected"
    name = "chance" if need is None else f"cause {need}"
    return f"{name} shows in {task}" if world.feedback is FeedbackKind.OWN or need is None else f"{name} shows"


def _sum_up(runs: Sequence[_Run]) -> Foresight:
    usd = [one.cost.usd for one in runs if one.cost.usd is not None]
    minutes = [one.cost.seconds / 60 for one in runs if one.cost.seconds is not None]
    return Foresight(
        len(runs),
        _range(run.rollouts for run in runs),
        _range(run.calls for run in runs),
        _range(minutes) if minutes else None,
        _range(run.cost.tokens for run in runs),
        _range(usd) if usd else None,
        fmean(run.gain > _BETTER for run in runs),
        fmean(run.grade is Grade.PROVEN for run in runs),
        fmean(run.grade in (Grade.PROVEN, Grade.PROVEN_HERE) for run in runs),
        fmean(run.capped for run in runs),
    )


def _range(values: Iterable[float]) -> MostLikely:
    ranked = sorted(values)
    last = len(ranked) - 1
    found = []
    for share in (_OUTER, 0.5, 1 - _OUTER):
        # Below a quantile that share of further draws is expected (Weibull's plotting position).
        place = min(max(share * (len(ranked) + 1) - 1, 0.0), float(last))
        below = int(place)
        found.append(ranked[below] + (place - below) * (ranked[min(below + 1, last)] - ranked[below]))
    return MostLikely(*found)
