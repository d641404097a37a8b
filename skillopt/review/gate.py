"""The gate for changes by people: is the new text better than the old one, or at least not worse?

A change by a person need not prove a gain: most do what no suite measures. So by default it passes unless it is shown
to be *worse*. Two tests share the error allowed: the gate's own with the two sides exchanged, for the mean score, and
one for the number of tasks that get worse rather than better. The second is there because a rule that does a little
harm in many tasks hides behind one that did well by chance (seen in `tidy-tables`: 14 worse, 1 better, mean -0.015).

That a loss was not shown is not that there is none. What the rollouts do rule out is a lower confidence limit over the
tasks in the order that was drawn before they were run; with `margin` a change passes only if a loss of so much is ruled
out (a test of non-inferiority).
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome, Verdict, compare, tally
from skillopt.gate.gate import GATE_ROUNDS, LOOK_EVERY, Gate, check_coverage, first_failure
from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, conclude, lower_limit, observe
from skillopt.loop.caps import BudgetReached, CappedRunner
from skillopt.loop.events import Event, GateDecided, HeldOutTestMeasured, ReleaseCheckWithheld, RunEnded, RunStarted
from skillopt.protocols import RolloutRequest, Runner
from skillopt.review.result import Judged, Required
from skillopt.rollouts import Reply, Rollout, Stream
from skillopt.settings import GateRule, Metric, Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Split, Suite, Task

__all__ = ["ChangeGate", "Demand", "exchanged"]


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked of a change.

    Args:
        required: Shown better, or not shown worse.
        margin: With `not-worse`, a loss of so much must be ruled out, in (0, 1); 0 asks for no such thing.
        release: Whether it is compared on `test`, too.
    """

    required: Required = Required.NOT_WORSE
    margin: float = 0.0
    release: bool = False

    def __str__(self) -> str:
        """Write it for the record."""
        return f"{self.required.value} margin={self.margin:g}{' release' if self.release else ''}"


class ChangeGate:
    """Compares the new text of a skill with the old one.

    Args:
        before: The old text; an empty one stands for no skill.
        after: The new text.
        suite: Its tasks.
        settings: The gate's rule, metric, confidence and coverage. The rule `strict` compares with a recorded score,
            which there is none of, and is taken as `paired`.
        runner: Runs rollouts.
        demand: What is asked.
    """

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

    def events(self, earlier: Sequence[Outcome | None] = ()) -> Iterator[Event]:
        """Run the comparison.

        Args:
            earlier: What was said of each change measured on this suite before. Each is measured with repeats of its
                own, and where a gain must be shown, all verdicts together keep to the confidence asked for.
        """
        suite = self._suite
        yield RunStarted(self._after.name, self._before.digest, suite.name, suite.digest, 0)
        try:
            yield from self._decide(earlier)
            if self.judged is not None and self.judged.passed and self._demand.release:
                yield from self._release(Stream.REVIEW.repeat(len(earlier)))
            reason = "no verdict" if self.judged is None else self.judged.reason
        except BudgetReached as reached:
            reason = str(reached)
            if self.judged is not None:
                yield ReleaseCheckWithheld(reason, 1)
        yield RunEnded(reason, 0, self._runner.rollouts_asked, 0)

    def _decide(self, earlier: Sequence[Outcome | None]) -> Generator[Event, None, None]:
        repeat = Stream.REVIEW.repeat(len(earlier) * GATE_ROUNDS)
        seen = _Seen(self._runner, repeat)
        better = self._demand.required is Required.BETTER
        val = self._suite.tasks(Split.VAL)
        if better:
            looked = [outcome is Outcome.ACCEPT for outcome in earlier if outcome is not None]
            gatekeeper = Gate(val, self._settings, seen, first_repeat=repeat, looked=looked)
            verdict = gatekeeper.decide("gate", self._before, self._after)
            reason = f"{'shown to be' if verdict.outcome is Outcome.ACCEPT else 'not shown to be'} better"
        else:
            verdict = self._harm(seen, repeat)
            reason = f"{'shown' if verdict.outcome is Outcome.REJECT else 'not shown'} to be worse"
        if self._demand.margin:
            seen.measure((self._before, self._after), self._left(seen, repeat))
        verdict = self._over_all(verdict, *seen.sides(self._before.digest, self._after.digest))
        plan = SequentialPlan(len(val), self._settings.confidence)
        lowest = lower_limit(observe(SequentialTest(plan), self._differences(seen)))
        passed = verdict.outcome is (Outcome.ACCEPT if better else Outcome.INCONCLUSIVE)
        reason = f"{reason}: {_told(verdict, len(val))}"
        if passed and self._demand.margin and lowest < -self._demand.margin:
            passed = False
            reason = f"a loss of {self._demand.margin:g} is not ruled out, only one of {-lowest:.2f}: {reason}"
        worse = seen.worse(self._before.digest, self._after.digest, self._settings.metric)
        self.judged = Judged(verdict, passed, reason, lowest, self._settings.confidence, worse)
        text, asked = self._after.document.text, self._runner.rollouts_asked
        yield GateDecided(0, "change", (), verdict, text, rollouts=asked, passed=passed)

    def _harm(self, seen: "_Seen", repeat: int) -> Verdict:
        """Ask whether the old text is better, by mean score or by number of tasks; each has half of the error."""
        settings, val = self._settings, self._suite.tasks(Split.VAL)
        half = 1.0 - (1.0 - settings.confidence) / 2
        # The sequential rule spends half of its error on a first comparison by itself.
        own = settings if settings.gate is GateRule.SEQUENTIAL else settings.model_copy(update={"confidence": half})
        gatekeeper = Gate(val, own, seen, first_repeat=repeat)
        verdict = exchanged(gatekeeper.decide("gate", self._after, self._before))
        test = self._signs(seen, half)
        while verdict.outcome is not Outcome.REJECT and conclude(test) is None:
            seen.measure((self._before, self._after), self._left(seen, repeat)[:LOOK_EVERY])
            test = self._signs(seen, half)
        if verdict.outcome is Outcome.REJECT or conclude(test) is not Outcome.ACCEPT:
            return verdict
        reason = f"more tasks are worse than better at confidence {test.confidence:.3f}"
        return replace(verdict, outcome=Outcome.REJECT, reason=reason, confidence=test.confidence)

    def _signs(self, seen: "_Seen", confidence: float) -> SequentialTest:
        """Bet that more tasks get worse than better."""
        signs = [None if found is None else float((found < 0) - (found > 0)) for found in self._differences(seen)]
        return observe(SequentialTest(SequentialPlan(len(self._suite.tasks(Split.VAL)), confidence)), signs)

    def _left(self, seen: "_Seen", repeat: int) -> list[Task]:
        """List the tasks that were not run yet, in an order that the results have no part in."""
        order = list(self._suite.tasks(Split.VAL))
        Random(f"{self._settings.seed}/change/{repeat}").shuffle(order)
        return [task for task in order if not seen.has(task)]

    def _differences(self, seen: "_Seen") -> list[float | None]:
        return seen.differences(self._before.digest, self._after.digest, self._settings.metric)

    def _over_all(self, verdict: Verdict, before: Sequence[Rollout], after: Sequence[Rollout]) -> Verdict:
        """Count over all that was run; a verdict's own numbers are of the test that decided it."""
        found = self._compare("gate", before, after, GateRule.STRICT)
        return replace(found, outcome=verdict.outcome, reason=verdict.reason, confidence=verdict.confidence)

    def _compare(self, place: str, before: Sequence[Rollout], after: Sequence[Rollout], rule: GateRule) -> Verdict:
        settings = self._settings
        verdict = compare(
            before,
            after,
            rule=rule,
            metric=settings.metric,
            confidence=settings.confidence,
            coverage=settings.coverage,
        )
        if verdict.outcome is Outcome.INVALID:
            raise InvalidMeasurementError(f"{place}: {verdict.reason}{first_failure((*before, *after))}")
        return verdict

    def _release(self, repeat: int) -> Generator[Event, None, None]:
        """Compare on `test`, once and all of it."""
        judged = self.judged
        tasks = self._suite.tasks(Split.TEST)
        before, after = (
            self._runner.rollouts([RolloutRequest(skill, task, repeat) for task in tasks])
            for skill in (self._before, self._after)
        )
        for rollouts in (before, after):
            check_coverage("test", rollouts, self._settings.coverage)
        better = self._demand.required is Required.BETTER
        sides = (before, after) if better else (after, before)
        verdict = self._compare("test", *sides, GateRule.PAIRED)
        verdict = verdict if better else exchanged(verdict)
        passed = verdict.outcome is (Outcome.ACCEPT if better else Outcome.INCONCLUSIVE)
        wanted = "better" if better else "worse"
        shown = "shown" if passed == better else "not shown"
        if judged is not None:
            reason = f"{judged.reason}; on test {shown} to be {wanted}: {_told(verdict, len(tasks))}"
            self.judged = replace(judged, passed=passed, reason=reason, test=verdict)
        yield HeldOutTestMeasured(tally(before), tally(after), verdict)


def exchanged(verdict: Verdict) -> Verdict:
    """Read a verdict on `is the old text better than the new one?` as one on the new text.

    Returns:
        `reject` when the old text was shown better, else `inconclusive`.
    """
    shown = verdict.outcome is Outcome.ACCEPT
    return replace(
        verdict,
        outcome=Outcome.REJECT if shown else Outcome.INCONCLUSIVE,
        before=verdict.after,
        after=verdict.before,
        wins=verdict.losses,
        losses=verdict.wins,
        worths=verdict.worths[::-1],
        fixed=verdict.broken,
        broken=verdict.fixed,
        reason=f"{'shown' if shown else 'not shown'} to be worse at confidence {verdict.confidence:.3f}",
    )


def _told(verdict: Verdict, tasks: int) -> str:
    measured = verdict.wins + verdict.ties + verdict.losses
    return (
        f"score {verdict.before:.3f} -> {verdict.after:.3f} on {measured} of {tasks} tasks, {verdict.wins} better, "
        f"{verdict.ties} equal, {verdict.losses} worse, confidence {verdict.confidence:.3f}"
    )


class _WithoutSkill:
    """A runner for which an empty skill is none."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        return self._runner.rollouts([_without_empty(request) for request in requests])

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:
        return self._runner.replies(prompts, schema)


def _without_empty(request: RolloutRequest) -> RolloutRequest:
    empty = request.skill is not None and not request.skill.document.text and not request.skill.files
    return replace(request, skill=None) if empty else request


class _Seen:
    """A runner that remembers each task's repeats, in the order that was asked for."""

    def __init__(self, runner: Runner, repeat: int) -> None:
        self._runner = runner
        self._repeat = repeat
        self._found: dict[str, dict[int, dict[str, Rollout]]] = {}

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        rollouts = self._runner.rollouts(requests)
        for request, rollout in zip(requests, rollouts, strict=True):
            if request.skill is not None:
                repeats = self._found.setdefault(request.task.id, {}).setdefault(request.repeat, {})
                repeats[request.skill.digest] = rollout
        return rollouts

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:
        return self._runner.replies(prompts, schema)

    def has(self, task: Task) -> bool:
        """Tell whether a task was run."""
        return task.id in self._found

    def measure(self, pair: tuple[Skill, Skill], tasks: Sequence[Task]) -> None:
        """Run both texts on tasks for the first time."""
        self.rollouts([RolloutRequest(skill, task, self._repeat) for skill in pair for task in tasks])

    def sides(self, before: str, after: str) -> tuple[list[Rollout], list[Rollout]]:
        """List the rollouts of both texts."""
        repeats = [sides for found in self._found.values() for sides in found.values()]
        old, new = ([sides[side] for sides in repeats if side in sides] for side in (before, after))
        return old, new

    def differences(self, before: str, after: str, metric: Metric) -> list[float | None]:
        """Give new minus old in the first repeat of each task, in the order of asking; None where one is missing."""
        firsts = (repeats.get(self._repeat, {}) for repeats in self._found.values())
        return [_difference(sides, before, after, metric) for sides in firsts]

    def worse(self, before: str, after: str, metric: Metric) -> tuple[str, ...]:
        """List the tasks that scored lower on average, what lost most first."""
        means = {}
        for task, repeats in self._found.items():
            found = (_difference(sides, before, after, metric) for sides in repeats.values())
            differences = [difference for difference in found if difference is not None]
            means[task] = fmean(differences) if differences else 0.0
        return tuple(sorted((task for task, mean in means.items() if mean < 0), key=lambda task: (means[task], task)))


def _difference(sides: Mapping[str, Rollout], before: str, after: str, metric: Metric) -> float | None:
    old, new = (sides[side].score if side in sides else None for side in (before, after))
    return None if old is None or new is None else metric.of(new) - metric.of(old)
