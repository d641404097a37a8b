"""One text for several targets: a task that each of them does counts once, and no target may get worse."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from skillopt.gate.comparison import Outcome, Pairs, TargetOutcome, Verdict, check_both_ran, compare_pairs
from skillopt.rollouts import Rollout
from skillopt.settings import GateRule, Settings
from skillopt.tasks import Task


class TargetGroups:
    """Knows which tasks are one task done by several targets; where each stands alone, nothing changes."""

    def __init__(self, tasks: Sequence[Task], settings: Settings) -> None:
        self._settings = settings
        self._tasks = {task.id: task for task in tasks}
        self.names = tuple(dict.fromkeys(task.target for task in tasks if task.target))
        self.units = tuple({task.unit.id: task.unit for task in tasks}.values())

    def spread(self, units: Iterable[Task]) -> list[Task]:
        """Return the tasks that targets do for some units: whole units, so that no target is measured less."""
        return [self._tasks[f"{unit.id}@{name}"] for unit in units for name in self.names] if self.names else [*units]

    def join(self, pairs: Pairs) -> Pairs:
        """Return pairs by unit, as `across_targets` says.

        With `mean` the targets count like repeats of the task; with `worst` each side counts by the target that did the
        task worst with it, so that a task counts as passed where every target passes it. Where a target lacks a score,
        the task is missing: the mean of the others would be that of another set of targets on each side.
        """
        if not self.names:
            return pairs
        groups: dict[tuple[str, int], list[tuple[Rollout, Rollout]]] = {}
        times = Counter[str]()
        for before, after in zip(pairs.before, pairs.after, strict=True):
            name = before.task_id
            groups.setdefault((self._tasks[name].unit.id, times[name]), []).append((before, after))
            times[name] += 1
        joined = Pairs()
        for (unit, _), group in groups.items():
            lacking = [one for pair in group for one in pair if one.score is None]
            if lacking:
                group = [(lacking[0], lacking[0])]  # noqa: PLW2901 - what stands for the group
            elif self._settings.across_targets == "worst":
                first, second = (min(side, key=self._result) for side in zip(*group, strict=True))
                group = [(first, second)]  # noqa: PLW2901 - as above
            for before, after in group:
                joined.before.append(replace(before, task_id=unit))
                joined.after.append(replace(after, task_id=unit))
        return joined

    def outcomes(self, pairs: Pairs) -> tuple[TargetOutcome, ...]:
        """Return how each target did with both texts; nothing where there is one target."""
        return tuple(self._outcome(name, self._of(name, pairs)) for name in self.names if pairs.before)

    def fallen(self, pairs: Pairs) -> tuple[TargetOutcome, ...]:
        """Return the targets that did worse in what was measured, the one that lost most first."""
        down = (one for one in self.outcomes(pairs) if round(one.gain, 9) < 0)
        return tuple(sorted(down, key=lambda one: one.gain))

    def judged(self, pairs: Pairs) -> Pairs:
        """Return the pairs that a grade rests on: those of the target that lost most, where one did worse."""
        down = self.fallen(pairs)
        return self._of(down[0].target, pairs) if down else self.join(pairs)

    def guard(self, verdict: Verdict, pairs: Pairs) -> Verdict:
        """Add how each target did, and turn an `accept` down where one of them did worse in what was measured.

        It is `reject` where the paired test shows the loss at the confidence of the settings, else `inconclusive`. A
        loss that no test shows is not let pass: of 20 tasks, three may break before one shows that at .90. So a noisy
        target that a text does nothing for can hold a version up; the further rounds that a gate runs then tell.
        """
        verdict = replace(verdict, targets=self.outcomes(pairs))
        down = self.fallen(pairs)
        if verdict.outcome is not Outcome.ACCEPT or not down:
            return verdict
        outcome = Outcome.REJECT if any(one.lost for one in down) else Outcome.INCONCLUSIVE
        reason = f"{verdict.reason}, but worse for {down[0]} tasks passed, gain {down[0].gain:+.3f}"
        return replace(verdict, outcome=outcome, reason=reason)

    def _of(self, name: str, pairs: Pairs) -> Pairs:
        """Return the pairs of one target."""
        both = zip(pairs.before, pairs.after, strict=True)
        own = [pair for pair in both if self._tasks[pair[0].task_id].target == name]
        return Pairs([before for before, _ in own], [after for _, after in own])

    def _outcome(self, name: str, pairs: Pairs) -> TargetOutcome:
        check_both_ran(f"target {name}", pairs)
        # With the sides exchanged, what is shown is a loss.
        found = compare_pairs(Pairs(pairs.after, pairs.before), self._settings, GateRule.PAIRED, f"target {name}")
        before, after = (sum(getattr(one, side) for one in found.pairs) for side in ("passed_after", "passed_before"))
        return TargetOutcome(name, before, after, len(found.pairs), -found.gain, found.outcome is Outcome.ACCEPT)

    def _result(self, rollout: Rollout) -> float:
        return self._settings.metric.of(rollout.score) if rollout.score else 0.0
