"""The gate for changes by people: is the new text worse than the old one, and what loss does still fit?

A change by a person need not prove a gain: most do what no suite measures. So by default it is refused only when it is
shown to be worse on these tasks. It passes when a loss worth speaking of is ruled out (a test of non-inferiority); what
lies between the two gets the answer `cannot tell`, with the greatest loss that fits.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from skillopt.figures import headline_of_verdict
from skillopt.gate.comparison import Comparison, Pairs, compare, expect_measured, task_gains
from skillopt.gate.decide import Question, Verdict, decide
from skillopt.gate.families import find_families
from skillopt.gate.gate import Gate, resolvable_gain
from skillopt.gate.mean_bet import lower_limit
from skillopt.gate.sign_flips import LookPlan
from skillopt.loop.caps import BudgetReached, CappedRunner
from skillopt.loop.events import Event, GateDecided, RunEnded, RunStarted
from skillopt.protocols import RolloutRequest, Runner
from skillopt.review.result import Judged, Required, Standing
from skillopt.review.watch import OldRecord, judge_by_record
from skillopt.rollouts import Reply, Rollout, Stream
from skillopt.safety.plurals import count_noun
from skillopt.settings import GateRule, Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Split, Suite, Task

TOLERATED_LOSS: Final = 0.2
"""A change that is not asked for a margin passes when a loss of more than this is ruled out."""

_MOST_TASKS: Final = 1000  # no margin or confidence that a gate can be asked for needs more

_WHOLE_REPEATS_OF: Final = 48
"""Rollouts of each text that whole repeats may come to before only tasks that came out differently are repeated."""

_EXTRA: Final = 3
"""Most repeats of all tasks, then of only those that came out differently: a matter of size, not of sign."""

MOST_REPEATS: Final = 2 * _EXTRA


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
            if (record := self._demand.record) and self._demand.by_record and record.usable:
                val, run = self._suite.tasks(Split.VAL), self._runner.rollouts
                texts = self._before, self._after
                self.judged, self.pairs = judge_by_record(record, texts, val, self._settings, run, len(earlier))
            else:
                yield self._decide(earlier)
            reason = "no verdict" if self.judged is None else self.judged.reason
        except BudgetReached as reached:
            reason = str(reached)
        yield RunEnded(reason, 0, self._runner.rollouts_asked, 0)

    def _decide(self, earlier: Sequence[float]) -> GateDecided:
        first = Stream.REVIEW.repeat(len(earlier) * MOST_REPEATS)
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
        reason = f"{reason}: {_told(verdict, len(val))}"
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
                return Standing.PASSED, "shown to be better"
            return Standing.REFUSED, "not shown to be better"
        if verdict.rejected:
            return Standing.REFUSED, f"shown to be worse ({verdict.reason})"
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
            pairs.add(self._run(tasks, first + look))
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

    def _run(self, tasks: Sequence[Task], repeat: int) -> Pairs:
        requests = [RolloutRequest(skill, task, repeat) for skill in (self._before, self._after) for task in tasks]
        return Pairs.halves(self._runner.rollouts(requests))


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
    needed = count_noun(bisect_left(range(1, _MOST_TASKS), x=True, key=enough) + 1, "val task")
    return f"expected at least {needed} to show {asked} at confidence {settings.confidence:g}, found {tasks}"


def _told(verdict: Verdict, tasks: int) -> str:
    measured = verdict.wins + verdict.ties + verdict.losses
    found = headline_of_verdict(verdict)
    unmeasured = f", {tasks - measured} of {tasks} not measured" if measured < tasks else ""
    shown = verdict.accepted or verdict.rejected
    return (
        f"{found.words if found else 'no task was measured'}{unmeasured}, {verdict.wins} better, "
        f"{verdict.ties} equal, {verdict.losses} worse{f', confidence {verdict.confidence:.3f}' if shown else ''}"
    )


class _WithoutSkill:
    """A runner for which an empty skill is none."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        found = []
        for request in requests:
            skill = request.skill
            is_empty = skill is not None and not skill.document.text and not skill.files
            found.append(replace(request, skill=None) if is_empty else request)
        return self._runner.rollouts(found)

    def replies(self, prompts: Iterable[str], schema: str = "", *, review: bool = False) -> tuple[Reply, ...]:
        return self._runner.replies(prompts, schema, review=review)
