"""The cases of a search on a real suite: whole runs of the loop that leave nothing behind but what was answered.

Owns what such a run is scored on, and the cap on what all of them may newly run. Commits no version, writes no
events, and never runs a task of the sealed `test` split. Does not own what is searched (tune) or the loop (optimizer).
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from statistics import fmean
from typing import Final

from skillopt.attempts import Result
from skillopt.commands.plan import Plan
from skillopt.documents import Skill
from skillopt.errors import UsageError
from skillopt.events import Event, RunEnded, SealedTestMeasured
from skillopt.executors.threads import ThreadExecutor
from skillopt.gating import check_coverage
from skillopt.ledger import Ledger
from skillopt.metering import OutOfBudget
from skillopt.optimizer import Optimizer
from skillopt.ports import RolloutRequest
from skillopt.roles import Roles, load_roles
from skillopt.rollouts import Reply, Rollout
from skillopt.runner import RecordedRunner, Watch
from skillopt.search_space import Value, applied
from skillopt.settings import Settings
from skillopt.tasks import Split, Suite

__all__ = ["TuningRuns", "case_of", "tuning_suite"]

_LEAST_HELD_OUT: Final = 4
_CASE: Final = "seed "


def case_of(seed: int) -> str:
    """Name the case of a seed."""
    return f"{_CASE}{seed}"


def tuning_suite(suite: Suite, share: float, seed: int) -> Suite:
    """Give the suite that a search trains on: a part of `train` is its test, and the sealed `test` is not in it.

    What is held out motivates no edit and decides no gate, so it scores settings without the bias that the gate's own
    tasks have; `val` stays whole, because how many tasks the gate has is part of what is tuned.

    Args:
        suite: The suite as it is.
        share: Of the train tasks that are held out.
        seed: Of which ones.

    Raises:
        UsageError: Too few are held out, or left.
    """
    train = suite.tasks(Split.TRAIN)
    count = round(share * len(train))
    if not _LEAST_HELD_OUT <= count <= len(train) - _LEAST_HELD_OUT:
        message = (
            f"expected at least {_LEAST_HELD_OUT} train tasks to score settings on and as many to learn from, found "
            f"{count} of {len(train)} held out; add train tasks, or change --held-out"
        )
        raise UsageError(message)
    held_out = {task.id for task in Random(f"{seed}/held out").sample(train, count)}
    left = [(split, task) for split, task in suite.splits if split is not Split.TEST]
    return Suite(suite.name, tuple((Split.TEST if task.id in held_out else split, task) for split, task in left))


class TuningRuns:
    """Runs of the loop under one seed each.

    Args:
        plan: The skill, its settings and who does what.
        suite: What the runs train on.
        skill: The text that each of them starts from.
        recorded: Where answers are recorded, and the id of the search under which they are.
        watch: Follows them.
        cap: Rollouts that all commands of the search may newly run; 0 for no cap.
    """

    def __init__(
        self, plan: Plan, suite: Suite, skill: Skill, recorded: tuple[Ledger, str], watch: Watch, cap: int = 0
    ) -> None:
        self._plan, self._suite, self._skill = plan, suite, skill
        self._ledger, self._study = recorded
        self._watch = watch
        self._cap = cap
        self._runners: dict[int, _CappedRunner] = {}
        before = self._ledger.spending(self._study)
        for usage in before.values():
            plan.roles.meter.replayed(usage)
        self._paid_before = before["target"].calls if "target" in before else 0

    @property
    def paid_rollouts(self) -> int:
        """Count the rollouts that this command ran itself."""
        return sum(runner.paid for runner in self._runners.values())

    def measure(self, values: Mapping[str, Value], cases: Sequence[str]) -> Generator[Result, None, None]:
        """Train with some settings, once for each case.

        Raises:
            OutOfBudget: The next call could pass a cap.
            InvalidMeasurementError: Too little of a case could be measured.
        """
        base = applied(self._plan.target.settings, values)
        for case in cases:
            seed = int(case.removeprefix(_CASE))
            # Money, tokens and time are kept for all runs together, by the meter.
            own = {"seed": seed, "max_usd": 0.0, "max_tokens": 0, "max_minutes": 0.0}
            yield self._train(base.model_copy(update=own))

    def _train(self, settings: Settings) -> Result:
        runner = self._runner(settings)
        loop = Optimizer(self._skill, self._suite, settings, runner)
        ended, scored = self._drive(loop.events(), runner)
        tasks = self._suite.tasks(Split.TEST)
        if scored is not None:
            return Result(scored.verdict.after, ended.rollouts - 2 * len(tasks))
        rollouts = runner.rollouts([RolloutRequest(self._skill, task) for task in tasks])
        check_coverage("held-out tasks", rollouts, settings.coverage)
        runner.keep_gaps()
        scores = [settings.metric.of(rollout.score) for rollout in rollouts if rollout.score is not None]
        return Result(fmean(scores), ended.rollouts)

    def _drive(self, events: Iterable[Event], runner: "_CappedRunner") -> tuple[RunEnded, SealedTestMeasured | None]:
        """Run to the end, keeping nothing but what was answered."""
        scored: SealedTestMeasured | None = None
        for event in events:
            runner.keep_gaps()
            self._watch.event(event)
            if isinstance(event, SealedTestMeasured):
                scored = event
            elif isinstance(event, RunEnded):
                return event, scored
        raise AssertionError("the run ended without saying so")

    def _runner(self, settings: Settings) -> "_CappedRunner":
        """Give the runner of a seed, which may be part of who the target is; all of them share one meter."""
        if settings.seed not in self._runners:
            plan = self._plan
            seeded = plan.target.settings.model_copy(update={"seed": settings.seed})
            roles = load_roles(seeded, self._suite, plan.repository.root, meter=plan.roles.meter)
            # What is to be known before anything runs is said once.
            roles = replace(roles, notice="") if self._runners else roles
            executor = ThreadExecutor(settings.workers, self._watch.notice)
            runner = RecordedRunner(self._ledger, self._study, roles, executor, self._watch, settings.breaker)
            self._runners[settings.seed] = _CappedRunner(runner, self._missing(roles))
        return self._runners[settings.seed]

    def _missing(self, roles: Roles) -> Callable[[Sequence[RolloutRequest]], None]:
        """Give what refuses a batch of rollouts of which too many are not recorded."""

        def check(requests: Sequence[RolloutRequest]) -> None:
            if not self._cap:
                return
            keys = {roles.key_of(request) for request in requests}
            new = len(keys) - len(self._ledger.rollouts(list(keys)))
            paid = self._paid_before + self.paid_rollouts
            if new and paid + new > self._cap:
                raise OutOfBudget(
                    f"the cap of {self._cap} rollouts leaves {max(0, self._cap - paid)}, and the next batch would run "
                    f"{new} that are not recorded; the same command with a higher --max-rollouts goes on"
                )

        return check


class _CappedRunner:
    """A recorded runner that asks before each batch of rollouts whether it may be run."""

    def __init__(self, runner: RecordedRunner, check: Callable[[Sequence[RolloutRequest]], None]) -> None:
        self._runner = runner
        self._check = check

    @property
    def paid(self) -> int:
        """Count the rollouts that were run, not replayed."""
        return self._runner.paid_rollouts

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run what is not recorded, if the cap leaves room for it."""
        self._check(requests)
        return self._runner.rollouts(requests)

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:
        """Ask the optimizer model."""
        return self._runner.replies(prompts, schema)

    def keep_gaps(self) -> None:
        """Record which rollouts the loop has gone on without."""
        self._runner.keep_gaps()
