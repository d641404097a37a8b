"""The gate for changes by people: is the new text worse than the old one, and what loss does still fit?

A change by a person need not prove a gain: most do what no suite measures. So by default it is refused only when it is
shown to be worse on these tasks. It passes when a loss worth speaking of is ruled out (a test of non-inferiority); what
lies between the two gets the answer `cannot tell`, with the greatest loss that fits.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final, assert_never

from skillopt.figures import comparison_words
from skillopt.gate.comparison import (
    Comparison,
    Pairs,
    check_both_ran,
    check_coverage,
    compare,
    expect_measured,
    task_gains,
)
from skillopt.gate.decide import Question, Verdict, decide
from skillopt.gate.families import find_families
from skillopt.gate.gate import Gate, resolvable_gain
from skillopt.gate.mean_bet import lower_limit
from skillopt.gate.sign_flips import LookPlan
from skillopt.loop.caps import BudgetReached, CappedRunner
from skillopt.loop.events import Event, GateDecided, RunEnded, RunStarted
from skillopt.protocols import RolloutRequest, Runner
from skillopt.review.one_sided import (
    WRONG_REFUSAL,
    Batch,
    Side,
    TaskRecord,
    WatchEnding,
    WatchFinding,
    chance_to_pass,
    follow,
    watched_tasks,
)
from skillopt.review.result import Judged, Required, Standing, Watched
from skillopt.rollouts import Reply, Rollout, Stream, Usage
from skillopt.safety.escaping import count_noun
from skillopt.settings import GateRule, Metric, Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Split, Suite, Task

TOLERATED_LOSS: Final = 0.2
"""A change that is not asked for a margin passes when a loss of more than this is ruled out."""

_WHOLE_REPEATS_OF: Final = 48
"""Rollouts of each text that whole repeats may come to before only tasks that came out differently are repeated."""

_EXTRA: Final = 3
"""Most repeats of all tasks, then of only those that came out differently: a matter of size, not of sign."""


def whole_repeats(tasks: int) -> int:
    """Return how often all tasks are run: once, and more often where they are few.

    >>> [whole_repeats(tasks) for tasks in (8, 24, 60)]
    [3, 2, 1]
    """
    return max(1, min(_EXTRA, _WHOLE_REPEATS_OF // max(1, tasks)))


def can_show_harm(tasks: int, error: float) -> bool:
    """Return whether so many tasks, all broken in every repeat, would show harm; one task says nothing of others.

    >>> [can_show_harm(tasks, 0.1) for tasks in (1, 2)]
    [False, True]
    """
    return tasks > 1 and 0.5 ** (tasks * (whole_repeats(tasks) + _EXTRA)) <= error


@dataclass(frozen=True, slots=True)
class OldRecord:
    """What is on record of the old text, by the ids of tasks, where that comes from in words, and a key of it.

    Those tasks run first whose evidence names lines that the change touches.
    """

    tasks: Mapping[str, TaskRecord]
    source: str
    key: str = ""
    named: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked of a change."""

    required: Required = Required.NOT_WORSE
    margin: float = 0.0
    record: OldRecord | None = None

    def __str__(self) -> str:
        """Write it for the record."""
        record = f" record={self.record.key}" if self.record else ""
        return f"{self.required.value} margin={self.margin:g}{record}"

    @property
    def by_record(self) -> bool:
        """Whether a record of the old text can answer it."""
        return self.required is Required.NOT_WORSE and not self.margin


class ChangeGate:
    """Compares the new text of a skill with the old one."""

    def __init__(
        self, before: Skill, after: Skill, suite: Suite, settings: Settings, runner: Runner, demand: Demand
    ) -> None:
        rule = GateRule.PAIRED if settings.gate is GateRule.STRICT else settings.gate
        self._before, self._after = before, after
        self._suite = suite
        self._settings = settings.model_copy(update={"gate": rule})
        self._runner = CappedRunner(_WithoutSkill(runner), settings, 0)
        self._demand = demand
        self.judged: Judged | None = None
        self.pairs = Pairs()

    def events(self, earlier: Sequence[float] = ()) -> Iterator[Event]:
        """Run the comparison."""
        suite = self._suite
        yield RunStarted(self._after.name, self._before.digest, suite.name, suite.digest, 0)
        try:
            if (record := self._demand.record) and self._demand.by_record and watched_tasks(record.tasks):
                val, run = self._suite.tasks(Split.VAL), self._runner.rollouts
                texts = self._before, self._after
                self.judged, self.pairs = _judge_by_record(
                    record, texts, val, self._settings, run=run, looks=len(earlier)
                )
            else:
                yield self._decide(earlier)
            reason = "no verdict" if self.judged is None else self.judged.reason
        except BudgetReached as reached:
            reason = str(reached)
        yield RunEnded(reason, 0, self._runner.rollouts_asked, 0)

    def _decide(self, earlier: Sequence[float]) -> GateDecided:
        first = Stream.REVIEW.repeat(len(earlier) * 2 * _EXTRA)
        better, val = self._demand.required is Required.BETTER, self._suite.tasks(Split.VAL)
        if better:  # as the loop's gate does
            gate = Gate(val, self._settings, self._runner, first_repeat=first, looked=earlier)
            verdict = gate.decide("gate", self._before, self._after)
            pairs = gate.measured(self._before, self._after)
        else:
            pairs, verdict = self._harm(first)
        expect_measured("gate", pairs, self._settings.coverage)
        self.pairs, lowest = pairs, lower_limit(self._compare(pairs).gains, 1.0 - self._settings.confidence)
        answer, reason = self._answer(verdict, lowest)
        reason = f"{reason}: {comparison_words(verdict)}"
        lost = task_gains(pairs.before, pairs.after, self._settings.metric)
        worse = tuple(sorted((task for task, gain in lost.items() if gain < 0), key=lambda task: (lost[task], task)))
        self.judged = Judged(verdict, answer, reason, lowest, self._settings.confidence, worse=worse)
        text, asked = self._after.document.text, self._runner.rollouts_asked
        passed = None if answer is Standing.CANNOT_TELL else answer is Standing.PASSED
        return GateDecided(0, "change", (), verdict, text, rollouts=asked, passed=passed)

    def _answer(self, verdict: Verdict, lowest: float) -> tuple[Standing, str]:
        """Answer what was asked, in a word and in words."""
        if self._demand.required is Required.BETTER:
            if verdict.accepted:
                return Standing.PASSED, f"shown to be better at confidence {verdict.confidence:.3f}"
            return Standing.REFUSED, "not shown to be better"
        if verdict.rejected:
            return Standing.REFUSED, verdict.reason
        loss, margin = max(0.0, -lowest), self._demand.margin
        if margin and loss > margin:
            return Standing.REFUSED, f"a loss of {margin:g} is not ruled out, only one of {loss:.2f}"
        if loss > (margin or TOLERATED_LOSS):
            return Standing.CANNOT_TELL, f"cannot tell: a loss of up to {loss:.2f} fits"
        return Standing.PASSED, f"not shown to be worse, and a loss of more than {loss:.2f} is ruled out"

    def _harm(self, first: int) -> tuple[Pairs, Verdict]:
        """Ask whether the new text is worse: run all tasks, then those that came out differently."""
        settings, tasks = self._settings, list(self._suite.tasks(Split.VAL))
        Random(f"{settings.seed}/change/{first}").shuffle(tasks)
        order, whole, pairs = tasks, whole_repeats(len(tasks)), Pairs()
        later = whole + _EXTRA - 1
        # Most of the error is for the first look, the rest is spread evenly.
        plan = LookPlan((*(0.4 + 0.6 * at / later for at in range(later)), 1.0), halved=True)
        for look in range(whole + _EXTRA):
            sides = [(skill, task) for skill in (self._before, self._after) for task in tasks]
            requests = [RolloutRequest(skill, task, first + look) for skill, task in sides]
            pairs.add(Pairs.halves(self._runner.rollouts(requests)))
            verdict = decide(self._compare(pairs), Question.WORSE, 1.0 - settings.confidence, plan)
            gains = task_gains(pairs.before, pairs.after, settings.metric)
            if look + 1 >= whole:
                lost = sum(gains.values()) < 0
                tasks = [task for task in order if lost and gains.get(task.id)]
            if verdict.rejected or not tasks:
                break
        return pairs, verdict

    def _compare(self, pairs: Pairs) -> Comparison:
        families = find_families(self._suite.tasks(Split.VAL))
        return compare(pairs, self._settings.metric, self._settings.coverage, families=families)


def why_untestable(tasks: int, settings: Settings, demand: Demand) -> str:
    """Return why so many tasks could never show what is asked, with the number that could; empty when they can."""
    asked = "a gain" if demand.required is Required.BETTER else "anything"
    if demand.required is not Required.BETTER and demand.margin:
        asked = f"that no loss of {demand.margin:g} is there"

    def enough(count: int) -> bool:
        if demand.required is Required.BETTER:
            return resolvable_gain(count, settings) is not None
        if not demand.margin:
            return can_show_harm(count, 1.0 - settings.confidence)
        return -lower_limit([0.0] * count, 1.0 - settings.confidence) <= demand.margin

    if tasks and enough(tasks):
        return ""
    # No margin or confidence that a gate can be asked for needs a thousand.
    needed = count_noun(bisect_left(range(1, 1000), x=True, key=enough) + 1, "val task")
    return f"expected at least {needed} to show {asked} at confidence {settings.confidence:g}, found {tasks}"


class _WithoutSkill:
    """A runner for which an empty skill is none."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        empty = (one.skill is not None and not (one.skill.document.text or one.skill.files) for one in requests)
        asked = [replace(one, skill=None) if none else one for one, none in zip(requests, empty, strict=True)]
        return self._runner.rollouts(asked)

    def replies(self, prompts: Iterable[str], schema: str = "", *, review: bool = False) -> tuple[Reply, ...]:
        return self._runner.replies(prompts, schema, review=review)


def _judge_by_record(
    record: OldRecord,
    sides: tuple[Skill, Skill],
    tasks: Sequence[Task],
    settings: Settings,
    run: Callable[[Sequence[RolloutRequest]], Sequence[Rollout]],
    looks: int,
) -> tuple[Judged, Pairs]:
    """Judge a change by the record of the old text and fresh runs, after so many earlier changes."""
    # The rule never runs a task 64 times with one text.
    named, first = {task.id: task for task in tasks}, Stream.REVIEW.repeat(looks * 64)
    order = Random(f"{settings.seed}/watch/{first}").sample(sorted(record.tasks), len(record.tasks))
    order.sort(key=lambda task: task not in record.named)
    counts, ran, pairs = Counter[tuple[Side, str]](), list[Rollout](), Pairs()
    passes = dict[str, list[bool]]()

    def run_batch(batch: Batch) -> list[bool | None]:
        requests = []
        for side, name in batch:
            requests.append(RolloutRequest(sides[side is Side.NEW], named[name], first + counts[side, name]))
            counts[side, name] += 1
        found = run(requests)
        ran.extend(found)
        for (side, name), one in zip(batch, found, strict=True):
            if side is Side.NEW and one.score is not None:
                passes.setdefault(name, []).append(one.score.passed)
        if len({side for side, _ in batch}) > 1:  # both texts, in pairs
            pairs.add(Pairs(list(found[::2]), list(found[1::2])))
        return [one.score.passed if one.score else None for one in found]

    finding = follow(record.tasks, order, run_batch, find_families(tasks))
    check_coverage("gate", ran, settings.coverage)
    check_both_ran("gate", pairs)
    verdict = None
    if pairs.before:
        # It is decided by the pairs that the last look of the rule was at; the verdict tells of all fresh pairs.
        both = [(old, new) for old, new in zip(pairs.before, pairs.after, strict=True) if old.score and new.score]
        looked_at = both[slice(*finding.tested)]
        differing = [pair for pair in looked_at if len({one.score.passed for one in pair if one.score}) > 1]
        tested = Pairs([old for old, _ in differing], [new for _, new in differing]) if differing else None
        verdict = decide(compare(pairs, Metric.HARD, tested=tested), Question.WORSE, finding.level)
    watched = _watched(record, passes, settings.seed)
    answer, reason = _answer_by_record(finding, watched, len(tasks), ran)
    if answer is Standing.REFUSED and (verdict is None or not verdict.rejected):
        told = verdict.reason if verdict else "no task ran with both texts"
        answer, reason = Standing.CANNOT_TELL, f"cannot tell: {told}"
    return Judged(verdict, answer, reason, lowest=-1.0, confidence=1.0 - WRONG_REFUSAL, watched=watched), pairs


def _watched(record: OldRecord, passes: Mapping[str, Sequence[bool]], seed: int) -> Watched:
    """Sum up the watched tasks that ran, and estimate how often harm would pass unseen."""
    sure = sum(row.sure for row in record.tasks.values())
    fifth, one = (chance_to_pass(record.tasks, lost, Random(f"{seed}/{lost}")) for lost in (max(1, round(sure / 5)), 1))
    return Watched(
        tasks=len(passes),
        passed_before=sum(record.tasks[task].passed / record.tasks[task].runs for task in passes),
        passed_after=sum(sum(runs) / len(runs) for runs in passes.values()),
        record=record.source,
        wrong_refusal=WRONG_REFUSAL,
        unseen_harm=fifth,
        unseen_task=one,
    )


def _answer_by_record(
    finding: WatchFinding, watched: Watched, tasks: int, ran: Sequence[Rollout]
) -> tuple[Standing, str]:
    """Say what the rule found."""
    found = f"{watched.passed} tasks pass that passed before"
    moved = f"; the old text fails now, too: {', '.join(finding.moved)}" if finding.moved else ""
    match finding.ending:
        case WatchEnding.PASSED:
            return Standing.PASSED, f"nothing that passed is seen to break: {found}{moved}"
        case WatchEnding.BROKEN:
            until = f"{watched.tasks} of {len(finding.watched)} tasks ran until that was clear"
            return Standing.REFUSED, f"shown to be worse: it breaks {', '.join(finding.broken)}; {until}"
        case WatchEnding.LOWER:
            return Standing.REFUSED, f"shown to be worse: fewer runs pass on all tasks together, {found}"
        case WatchEnding.TARGET_CHANGED:
            reason = "the target changed since the record: the old text passes fewer tasks now, too"
            return Standing.CANNOT_TELL, f"cannot tell: {reason}; the push that merges this makes a new record"
        case WatchEnding.UNSURE:
            usd, more = Usage.total(one.usage for one in ran).usd, 4 * tasks  # with both texts, about
            price = f", ${usd / len(ran) * more:.2f}" if usd else ""
            told = f"`--margin 0.2` runs all {tasks} tasks with both texts: about {more} rollouts{price}"
            return Standing.CANNOT_TELL, f"cannot tell: {found}{moved}; what would tell: {told}"
        case _:
            assert_never(finding.ending)
