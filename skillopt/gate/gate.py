"""The gate: measure texts side by side on `val` until it is decided which is better, and grade what is left.

Every comparison has repeats of its own, it stops as soon as it is decided, and all comparisons of a skill share one
error. Too little measured is no verdict.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from random import Random
from typing import Final

from skillopt.gate.comparison import Comparison, Pairs, check_coverage, compare, expect_measured, least_gain
from skillopt.gate.decide import Question, Terms, Verdict, decide
from skillopt.gate.error_budget import ErrorBudget
from skillopt.gate.families import find_families
from skillopt.gate.grades import Against, Grade
from skillopt.gate.sign_flips import LookPlan
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout
from skillopt.settings import GateRule, Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Task

BASELINE_TASKS: Final = 12
"""Tasks of `val` in a sample of the baseline, and between two looks at the newest version: a third of a usual split."""

GATE_ROUNDS: Final = 3
"""Most runs of each task in a comparison on new tasks, averaged inside the task; a fourth decides little."""

HERE_ROUNDS: Final = 4
"""Most rounds of paired repeats for a claim about these very tasks."""

_SHARES: Final = (0.3, 0.8, 0.92)
"""Shares of the error used up after half of the tasks, all of them, and two rounds."""

_HERE_SHARES: Final = (0.7, 0.85, 0.95)
"""Shares used up after each round of repeats but the last: most of what is shown at all is shown by the first."""

_HALVED_FROM: Final = 16
"""Tasks from which on the first look is at half of them."""

_MARGIN: Final = 0.1  # share of tasks that a later version may lose of the newest one: with .3 the rates below hold
_NOT_WORSE_ERROR: Final = 0.3
"""The error with which that is ruled out. A draft that mends 10%
is accepted in .79 and .91 of cases with 24 and 36 tasks, one that breaks 10% in .18 and .26; with .4 in .21 and .39."""

_Sides = tuple[Skill, Skill]
"""Incumbent and candidate."""


class Gate:
    """Decides about candidates on the tasks of one split; all comparisons of a skill share one error (error_budget)."""

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: Settings,
        runner: Runner,
        *,
        first_repeat: int = 0,
        looked: Iterable[float] = (),
    ) -> None:
        self._tasks = tuple(tasks)
        self._order = list(self._tasks)
        Random(f"{settings.seed}/gate").shuffle(self._order)
        self._families = find_families(self._tasks)
        places = {
            family: place for place, family in enumerate(dict.fromkeys(self._families[t.id] for t in self._order))
        }
        self._order.sort(key=lambda task: places[self._families[task.id]])  # a family is looked at as a whole
        self._units = len(set(self._families.values()))
        self._settings = settings
        self._runner = runner
        self._repeat = first_repeat
        self._recorded: tuple[Rollout, ...] = ()
        self._unused: dict[tuple[str, str], list[Rollout]] = {}
        self._versions: dict[str, dict[str, Rollout]] = {}
        self._budget = ErrorBudget.after(1.0 - settings.confidence, looked)
        self._spent_before = self._budget.spent
        self._seen: dict[tuple[str, str], Pairs] = {}

    @property
    def error_spent(self) -> float:
        """The error that this gate spent by now, without what earlier ones did."""
        return self._budget.spent - self._spent_before

    def baseline(self, skill: Skill, *, whole: bool = False) -> tuple[Rollout, ...]:
        """Measure the first incumbent, on a sample of the tasks or on all."""
        settings, order = self._settings, list(self._tasks)
        if not whole and settings.gate is not GateRule.STRICT and len(order) > BASELINE_TASKS:
            Random(f"{settings.seed}/baseline").shuffle(order)
            order = order[:BASELINE_TASKS]
        self._recorded = self._measure(skill, order)
        for rollout in self._recorded:
            if rollout.score is not None:
                self._unused.setdefault((skill.digest, rollout.task_id), []).append(rollout)
        check_coverage("baseline", self._recorded, settings.coverage)
        return self._recorded

    def go_on_from(self, repeat: int) -> None:
        """Number the repeats after the baseline from here on, as where only these are of a stream of their own."""
        self._repeat = repeat

    def decide(
        self,
        place: str,
        incumbent: Skill,
        candidate: Skill,
        left: int | None = None,
        why_not: Callable[[Pairs], str] = lambda _: "",
    ) -> Verdict:
        """Ask whether a candidate is better than the incumbent, unless what was run says why not.

        `left` are the rollouts that a cap leaves; None is as many as it takes.
        """
        sides, rule = (incumbent, candidate), self._settings.gate
        if rule is GateRule.SEQUENTIAL:
            level, (pairs, verdict, plan) = self._allowance, self._step_by_step(place, sides, left)
            if verdict.accepted and (unless := why_not(pairs)):
                terms = Terms(unless=unless, refuses=True, spent=self._budget.spent)
                verdict = decide(self._compare(pairs), Question.BETTER, level, plan, terms)
            return self._paid(sides, verdict)
        if rule is GateRule.PAIRED:
            # Measured anew each time: a stored score that was lucky once would block every later gain.
            pairs = self._pairs(sides, self._tasks, self._next_repeat())
        else:
            pairs = Pairs(list(self._recorded), list(self._measure(candidate, self._tasks)))
            self._seen[_key(sides)] = pairs
        expect_measured(place, pairs, self._settings.coverage)
        error = 1.0 if rule is GateRule.STRICT else 1.0 - self._settings.confidence
        verdict = decide(self._compare(pairs), Question.BETTER, error, terms=Terms(proves=False))
        if verdict.accepted:
            self._recorded = tuple(pairs.after)
        return self._paid(sides, verdict)

    def decide_later(
        self, place: str, first: Skill, incumbent: Skill, candidate: Skill, left: int | None = None
    ) -> Verdict:
        """Ask whether a candidate is better than the first text and not worse than the newest version."""
        level = self._allowance
        pairs, verdict, plan = self._step_by_step(place, (first, candidate), left, Against.FIRST)
        if verdict.accepted:
            newest = self._against_newest(place, incumbent, candidate, pairs)
            if not newest.accepted:
                unless = f"against the newest version {newest.reason}"
                lower = newest.gain < 0
                terms = Terms(unless=unless, refuses=lower, against=Against.FIRST, spent=self._budget.spent)
                verdict = decide(self._compare(pairs), Question.BETTER, level, plan, terms)
        return self._paid((first, candidate), verdict)

    def take_up(self, incumbent: Skill, candidate: Skill, pairs: Pairs) -> None:
        """Count rollouts that learning made: for the figures of a grade, never for a proof."""
        self._seen.setdefault(_key((incumbent, candidate)), Pairs()).add(pairs)

    def measure_rest(self, incumbent: Skill, candidate: Skill, left: int) -> None:
        """Run the tasks that a gate left out when it gave up, as far as the rollouts `left` reach, for a grade."""
        sides = (incumbent, candidate)
        seen = {rollout.task_id for rollout in self.measured(*sides).after}
        costs = [(task, 1 if self._unused.get((sides[0].digest, task.id)) else 2) for task in self._order]
        new = [(task, cost) for task, cost in costs if task.id not in seen]
        sums = accumulate(cost for _, cost in new)
        tasks = [task for (task, _), cost in zip(new, sums, strict=True) if cost <= left]
        if seen and tasks:
            self._pairs(sides, tasks, self._next_repeat())

    def grade(
        self,
        place: str,
        incumbent: Skill,
        candidate: Skill,
        rounds: int = 0,
        unless: str = "",
        worth: Callable[[Pairs], bool] = lambda _: True,
    ) -> Verdict:
        """Grade a candidate at the end of a run by fresh repeats, which may make it `proven` or `proven here`.

        All figures are those of the candidate itself, by all that was run of it; the proof is by the fresh repeats.
        `unless` says why it cannot be `proven`, as where all tasks taught it, and `worth` whether, by the repeats so
        far, more of them are worth their price.
        """
        sides, fresh = (incumbent, candidate), Pairs()
        level, rounds = self._allowance, min(rounds, HERE_ROUNDS)
        proving = self._settings.gate is GateRule.SEQUENTIAL and not unless
        proof, seen = proof_plan(rounds, self._units), here_plan(rounds, len(self._order))
        here = None
        for _ in range(rounds):
            pairs = self._pairs(sides, self._order, self._next_repeat())
            fresh.add(pairs)
            here = decide(self._compare(fresh), Question.HERE, level, seen)
            shown = here.accepted
            proven = proving and decide(self._compare(fresh), Question.BETTER, level, proof)
            if (here.over and (not shown or not proven or proven.over)) or not worth(fresh):
                break
        measured = self.measured(incumbent, candidate)
        if measured.before:
            expect_measured(place, measured, self._settings.coverage)
        told = self._compare(measured, fresh if fresh.before else None)
        terms = Terms(
            here=None if rounds == 1 and told.partial else here,  # one round of partial scores shows little of these
            unless=unless,
            enough=Grade.PROVEN_HERE if self._settings.accept == "here" else Grade.PROVEN,
            spent=self._budget.spent,
        )
        error = level if proving and fresh.before else 0.0
        return self._paid(sides, decide(told, Question.BETTER, error, proof, terms))

    def measured(self, incumbent: Skill, candidate: Skill) -> Pairs:
        """Return all paired rollouts of two texts by now."""
        return self._seen.get(_key((incumbent, candidate)), Pairs())

    @property
    def _allowance(self) -> float:
        return self._budget.allowance_for(self._units)

    def _plan(self, incumbent: Skill, left: int | None) -> tuple[list[list[Task]], LookPlan]:
        """Plan looks at half of the tasks, at all of them, and at two and three rounds of them; or one at what fits."""
        order, fitting = self._order, self._fitting(incumbent, left)
        if len(fitting) < len(order):  # no repeat is left, so the whole error is for this look
            return [fitting], LookPlan(units=len({self._families[task.id] for task in fitting}))
        last = GATE_ROUNDS if left is None else min(GATE_ROUNDS, max(1, left // (2 * len(order))))
        half = len(order) // 2 if len(order) >= _HALVED_FROM else 0
        shares = (*_SHARES[0 if half else 1 : last], 1.0)
        batches = [order[:half], order[half:]] if half else [order]
        return batches + [order] * (len(shares) - len(batches)), LookPlan(shares, bool(half), self._units)

    def _fitting(self, incumbent: Skill, left: int | None) -> list[Task]:
        """Return the tasks that a cap has room for, those with a baseline first; all where so few show nothing."""
        costs = {task.id: 1 if self._unused.get((incumbent.digest, task.id)) else 2 for task in self._order}
        order = sorted(self._order, key=lambda task: costs[task.id])
        sums = accumulate(costs[task.id] for task in order)
        fitting = [task for task, cost in zip(order, sums, strict=True) if left is None or cost <= left]
        units = len({self._families[task.id] for task in fitting})
        can_show = len(fitting) == len(order) or least_gain(units, 1.0 - self._allowance) is not None
        return fitting if can_show else self._order

    def _step_by_step(
        self, place: str, sides: _Sides, left: int | None, against: Against = Against.BEFORE
    ) -> tuple[Pairs, Verdict, LookPlan]:
        """Look at one batch after the other until it is decided."""
        (batches, plan), pairs, level = self._plan(sides[0], left), Pairs(), self._allowance
        repeat, terms = self._next_repeat(), Terms(against=against, spent=self._budget.spent)
        for number, batch in enumerate(batches):
            repeat = repeat if number <= plan.halved else self._next_repeat()
            pairs.add(self._pairs(sides, batch, repeat))
            verdict = decide(self._compare(pairs), Question.BETTER, level, plan, terms)
            if verdict.over:
                break
        expect_measured(place, pairs, self._settings.coverage)
        return pairs, verdict, plan

    def _against_newest(self, place: str, newest: Skill, candidate: Skill, pairs: Pairs) -> Verdict:
        """Ask whether a candidate loses less than the margin against the newest version.

        What was run of the version when it was accepted counts: lucky runs, which make it a little stricter.
        """
        known, ran = dict(self._versions.get(newest.digest, {})), pairs.after
        seen = {rollout.task_id for rollout in ran}
        order = sorted(self._order, key=lambda task: task.id not in seen)
        both, plan = Pairs(), LookPlan(units=self._units)
        for start in range(0, len(order), BASELINE_TASKS):
            batch, repeat = order[start : start + BASELINE_TASKS], self._next_repeat()
            wanted = [RolloutRequest(newest, task, repeat) for task in batch if task.id not in known]
            wanted += [RolloutRequest(candidate, task, repeat) for task in batch if task.id not in seen]
            found = self._runner.rollouts(wanted)
            known |= {one.task_id: one for one in found if one.skill_digest == newest.digest}
            ran = [*ran, *(one for one in found if one.skill_digest != newest.digest)]
            after = [one for one in ran if one.task_id in {task.id for task in batch}]
            both.add(Pairs([known[one.task_id] for one in after], after))
            verdict = decide(self._compare(both), Question.NOT_WORSE, _NOT_WORSE_ERROR, plan, Terms(margin=_MARGIN))
            if verdict.accepted:
                break
        expect_measured(place, both, self._settings.coverage)
        self._note(candidate, ran)
        return verdict

    def _compare(self, pairs: Pairs, tested: Pairs | None = None) -> Comparison:
        settings = self._settings
        return compare(pairs, settings.metric, settings.coverage, families=self._families, tested=tested)

    def _paid(self, sides: _Sides, verdict: Verdict) -> Verdict:
        """Pay for a verdict, and keep what was run of both texts for versions that build on one that it makes.

        What was run of the first text was unlucky, if anything. It is compared again only with a text that must also be
        no worse than the version, so a false verdict needs another one before it.
        """
        self._budget = self._budget.spend(verdict.error_spent)
        if verdict.accepted:
            measured = self.measured(*sides)
            self._note(sides[1], measured.after)
            for rollout in measured.before if self._settings.gate is GateRule.SEQUENTIAL else ():
                if rollout.score is not None:
                    self._unused[sides[0].digest, rollout.task_id] = [rollout]
        return verdict

    def _note(self, skill: Skill, rollouts: Iterable[Rollout]) -> None:
        """Keep a rollout of each task for comparisons with what builds on a text."""
        known = self._versions.setdefault(skill.digest, {})
        for rollout in rollouts:
            if rollout.score is not None:
                known.setdefault(rollout.task_id, rollout)

    def _measure(self, skill: Skill, tasks: Sequence[Task]) -> tuple[Rollout, ...]:
        """Run tasks once."""
        repeat = self._next_repeat()
        return self._runner.rollouts([RolloutRequest(skill, task, repeat) for task in tasks])

    def _pairs(self, sides: _Sides, tasks: Sequence[Task], repeat: int) -> Pairs:
        """Run both in one batch with the same repeat, first the one that is drawn; a run of the baseline counts."""
        incumbent, candidate = sides
        unused = {task.id: self._unused.get((incumbent.digest, task.id)) for task in tasks}
        known = {name: left.pop(0) if left else None for name, left in unused.items()}
        new = [task for task in tasks if known[task.id] is None]
        requests = [RolloutRequest(incumbent, task, repeat) for task in new]
        requests += [RolloutRequest(candidate, task, repeat) for task in tasks]
        # A batch runs one text after the other, so only which goes first is drawn.
        turn = len(new) * Random(f"{self._settings.seed}/order/{repeat}").randrange(2)
        found = self._runner.rollouts(requests[turn:] + requests[:turn])
        rollouts = [*found[len(found) - turn :], *found[: len(found) - turn]]
        made = {task.id: rollout for task, rollout in zip(new, rollouts, strict=False)}
        before = [known[task.id] or made[task.id] for task in tasks]
        pairs = Pairs(before, rollouts[len(new) :])
        self._seen.setdefault(_key(sides), Pairs()).add(pairs)
        return pairs

    def _next_repeat(self) -> int:
        self._repeat += 1
        return self._repeat - 1


def proof_plan(rounds: int, units: int) -> LookPlan:
    """Plan a look after each round of all tasks, for a claim about new ones."""
    return LookPlan((*_SHARES[1 : min(rounds, GATE_ROUNDS)], 1.0), units=units)


def here_plan(rounds: int, tasks: int) -> LookPlan:
    """Plan a look after each round of all tasks, for a claim about these very ones."""
    return LookPlan((*_HERE_SHARES[: rounds - 1], 1.0), units=rounds * tasks)


def resolvable_gain(tasks: int, settings: Settings) -> float | None:
    """Return the least gain in passed tasks, without a loss, that the first gate can certify; None for none."""
    budget = ErrorBudget.after(1.0 - settings.confidence, ())
    shared = settings.gate is GateRule.SEQUENTIAL
    return least_gain(tasks, 1.0 - budget.allowance_for(tasks) if shared else settings.confidence)


def _key(sides: _Sides) -> tuple[str, str]:
    return sides[0].digest, sides[1].digest
