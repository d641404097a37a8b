"""What the loop runs: batches that keep to the caps of a run, train tasks with fresh repeats, and what a cap is for."""

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import first_failure
from skillopt.gate.gate import BASELINE_TASKS
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Reply, Rollout, Stream, Usage
from skillopt.settings import GateRule, Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Split, Suite, Task

_MANY: Final = 1_000_000  # in place of no cap


class BudgetReached(Exception):  # noqa: N818 - an ordinary end of a run, not an error
    """The next calls would pass a cap of the run, so none of them was made."""


class CappedRunner:
    """A runner that stops before the batch that would pass a cap.

    Recorded answers count like paid ones, so a rerun stops at the same batch as the run it repeats. Calls are those
    of the optimizer model and of the judge. Money and tokens are foreseen from the mean of what was
    measured so far, with the held-out test kept back; that no call passes a cap on money or tokens is the meter's work
    (metering).
    """

    def __init__(self, runner: Runner, settings: Settings, held_out: int, kept: int = 0) -> None:
        self._runner = runner
        self._settings = settings
        self._held_out = held_out
        self._kept = kept
        self._asked: set[tuple[str, str, int]] = set()
        self._targets, self._optimizers = Usage(), Usage()
        self._measured = 0
        self.rollouts_asked = 0
        self.calls_asked = 0

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run rollouts, all of them or, past the cap, none; one that was asked for before counts once."""
        most = self._settings.max_rollouts
        cap = None if most is None else max(1, most - self._held_out - self._kept)
        keys = {(request.digest, request.task.id, request.repeat) for request in requests}
        new = len(keys - self._asked)
        wanted = self.rollouts_asked + new
        if cap is not None and wanted > cap:
            kept = f", {most - cap} are reserved for the verdict" if most and most > cap else ""
            used = f"{self.rollouts_asked} of max_rollouts {most} are used{kept}, and the next batch needs {new}"
            raise BudgetReached(f"{used}; raise the cap to continue")
        self._foresee(new, self._targets, self._measured)
        self._asked |= keys
        self.rollouts_asked += new
        # One text after the other: a local server then reads the beginning that prompts share once for each text.
        first = {request.digest: at for at, request in reversed(list(enumerate(requests)))}
        order = sorted(range(len(requests)), key=lambda at: first[requests[at].digest])
        ran = dict(zip(order, self._runner.rollouts([requests[at] for at in order]), strict=True))
        found = tuple(ran[at] for at in range(len(requests)))
        self._targets += Usage.total(rollout.usage for rollout in found)
        self._measured += len(found)
        return found

    @property
    def left(self) -> int:
        """Count the rollouts that training may still ask for, what is kept back included; many without a cap."""
        most = self._settings.max_rollouts
        return _MANY if most is None else most - self._held_out - self.rollouts_asked

    @property
    def free(self) -> int:
        """Count the rollouts that learning may still ask for."""
        return max(0, self.left - self._kept)

    def release(self, kept: int = 0) -> None:
        """Let the rollouts that were kept back be used, all but some."""
        self._kept = min(kept, self._kept)

    def replies(self, prompts: Iterable[str], schema: str = "", *, review: bool = False) -> tuple[Reply, ...]:
        """Ask the optimizer model or the reviewer, all prompts or, past the cap, none."""
        prompts = tuple(prompts)
        self._foresee(len(prompts), self._optimizers, self.calls_asked)
        self.calls_asked += len(prompts)
        found = self._runner.replies(prompts, schema, review=review)
        self._optimizers += Usage.total(reply.usage for reply in found)
        return found

    def _foresee(self, count: int, spent: Usage, over: int) -> None:
        """Stop before a batch that, by the mean so far, would leave too little for the held-out test."""
        caps: tuple[tuple[str, float | None, Callable[[Usage], float]], ...] = (
            ("max_usd", self._settings.max_usd, lambda used: used.usd or 0.0),
            ("max_tokens", self._settings.max_tokens, lambda used: used.tokens),
        )
        for name, cap, of in caps:
            more = count * of(spent) / over if over else 0.0
            kept = self._held_out * of(self._targets) / self._measured if self._measured else 0.0
            used = of(self._targets) + of(self._optimizers)
            if cap and used + more + kept > cap:
                reserved = f", {kept:.6g} are reserved for the held-out test" if kept else ""
                raise BudgetReached(
                    f"{used:.6g} of {name} {cap:g} are used{reserved}, and the next batch needs about {more:.6g}; "
                    "raise the cap to continue"
                )


_WATCHED: Final = 24
"""Newest rollouts that tell whether a provider is away."""

_MEASURED: Final = 0.1
"""Least share of them with a score: single tasks that keep failing are no reason to stop."""

_AWAY: Final = 8
"""Rollouts without any score after which a provider is taken to be away."""


class TrainRollouts:
    """Runs train tasks."""

    def __init__(self, runner: Runner, stream: Stream, first: int = 0) -> None:
        self._runner, self._stream, self._first = runner, stream, first
        self._repeats: Counter[tuple[str, str]] = Counter()
        self._newest: deque[Rollout] = deque(maxlen=_WATCHED)
        self._unread: list[Rollout] = []

    def measure(self, wanted: Sequence[tuple[Skill, Task]]) -> list[Rollout | None]:
        """Run tasks, each under a skill of its own, side by side; None for what has no score."""
        repeats = self._repeats.copy()
        requests = []
        for skill, task in wanted:
            key = (skill.digest, task.id)
            requests.append(RolloutRequest(skill, task, self._stream.repeat(self._first + repeats[key])))
            repeats[key] += 1
        rollouts = self._runner.rollouts(requests)
        self._repeats = repeats  # behind the runs, for a batch that passes a cap is none
        self._newest.extend(rollouts)
        self._unread.extend(rollouts)
        if len(self._newest) >= _AWAY and not self.alive:
            measured = sum(rollout.score is not None for rollout in self._newest)
            newest = f"only {measured} of the newest {len(self._newest)} rollouts could be measured"
            raise InvalidMeasurementError(f"train: {newest}{first_failure(self._newest)}")
        return [None if rollout.score is None else rollout for rollout in rollouts]

    @property
    def alive(self) -> bool:
        """Whether enough of the newest rollouts could be measured for the provider not to be what fails."""
        measured = sum(rollout.score is not None for rollout in self._newest)
        return measured >= _MEASURED * len(self._newest) > 0

    def newest(self, count: int) -> list[Rollout]:
        """Return the newest of the rollouts that were not read yet, those without a score included."""
        return self._unread[-count:]

    def read(self) -> list[Rollout]:
        """Return the rollouts since they were read last, those without a score included."""
        found, self._unread = self._unread, []
        return found


_MOST: Final = 4
"""Baseline and gate take at most the fourth part of a cap, and so does the held-out test: learning needs the rest."""

_PROVEN_FROM: Final = 4
"""Rollouts a task for each round of proof that is kept where all tasks teach; below, learning is worth more."""

_KEPT_ROUNDS: Final = 2  # of proof: most of what is shown at all is shown by the first
_LEAST_FOR_DRAFT: Final = 1.5  # rollouts a task: each once, and a patch on the half that fails


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """How many rollouts of a cap, if there is one, are for what."""

    baseline: int
    gate: int
    test: int
    cap: int | None

    @property
    def learning(self) -> int | None:
        """What is left of the cap; None without one."""
        return None if self.cap is None else max(0, self.cap - self.baseline - self.gate - self.test)


def plan_rollouts(suite: Suite, settings: Settings) -> RolloutPlan:
    """Share the cap of a run."""
    val, test = len(suite.tasks(Split.VAL)), 2 * len(suite.tasks(Split.TEST))
    cap = settings.max_rollouts
    if settings.gate is GateRule.STRICT:
        # It compares with the recorded baseline, so it needs every task on both sides.
        return RolloutPlan(val, val, test, cap)
    baseline, gate = min(val, BASELINE_TASKS), 2 * val
    if cap is None:
        return RolloutPlan(baseline, gate, test, None)
    most = cap // _MOST
    if suite.folds:
        # The baseline is the first rollout of every task, which learning needs anyway; proof takes one more of each in
        # its first round, and two in each later one.
        rounds = min(_KEPT_ROUNDS, cap // (_PROVEN_FROM * val))
        baseline, gate = min(val, cap), max(0, 2 * rounds - 1) * val
    else:
        # The gate comes first: a draft that cannot be judged is worth less than one that was measured against noise.
        gate = min(gate, max(1, most - min(val, most // 3)))
        baseline = min(baseline, most - gate)
    return RolloutPlan(baseline, gate, test if test <= most else 0, cap)


def least_rollouts(suite: Suite, settings: Settings) -> int:
    """Return the smallest cap that has room for a baseline, one batch and one gate on all of `val`.

    Where all tasks teach it is a patch test on half of them: the draft is then handed over with its probability.
    """
    if settle_folds(suite, settings).folds:
        return math.ceil(_LEAST_FOR_DRAFT * len(suite.splits))
    cap = 1
    while True:
        capped = settings.model_copy(update={"max_rollouts": cap})
        settled = settle_folds(suite, capped)
        plan, sides = plan_rollouts(settled, capped), 1 if settings.gate is GateRule.STRICT else 2
        taught = len(settled.tasks(Split.TRAIN))
        wanted = min(settings.batch_size, taught) + sides * len(settled.tasks(Split.VAL)) + plan.baseline + plan.test
        if wanted <= cap:
            return cap
        cap = wanted if settings.gate is GateRule.STRICT else cap + 1


def settle_folds(suite: Suite, settings: Settings) -> Suite:
    """Return the suite as a run can use it: few tasks all teach and judge, where a gate measures afresh."""
    return suite.first_fold_suite if suite.folds and settings.gate is not GateRule.SEQUENTIAL else suite
