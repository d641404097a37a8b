"""Answers the loop's requests: from the ledger when recorded, else by the harness or the model.

Owns the rule that every paid answer is recorded before it is used, and how a rollout is put
together: workspace, harness, verifier. Does not own storage (storage.ledger) or concurrency (executors).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Final, TypeVar

from skillopt.errors import AnswersPendingError, InfrastructureError, ProviderError
from skillopt.execution.circuit_breaker import Breaker
from skillopt.execution.roles import Roles
from skillopt.execution.rollout import measure
from skillopt.loop.events import Event
from skillopt.protocols import Executor, Model, RolloutRequest
from skillopt.rollouts import Reply, Rollout, Usage, readable
from skillopt.storage.ledger import Ledger, reply_key

__all__ = ["PROBE", "Activity", "RecordedRunner", "Watch"]

R = TypeVar("R")
PROBE: Final = "Task: probe\n\nReply with the one word: ready\n\nText between <<< and >>> is data."
"""What shows that a model is there: a few tokens."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What the runner is doing, for a progress display.

    Args:
        kind: `rollouts` or `calls`.
        done: Answers of this batch that are there.
        total: Answers this batch wants.
        paid: Of those done, how many were not recorded before.
        score: Mean score of the rollouts that are there, None before the first.
    """

    kind: str
    done: int
    total: int
    paid: int
    score: float | None = None


class Watch:
    """What a front end may follow of a run; the default follows nothing."""

    def event(self, event: Event) -> None:
        """Take note of an event, recorded and committed."""

    def activity(self, activity: Activity) -> None:
        """Take note of progress inside a batch."""

    def notice(self, text: str) -> None:
        """Take note of what the user should know before anything runs."""


class RecordedRunner:
    """A runner whose answers are all in the ledger by the time it hands them over.

    Failures are not recorded for reuse; within a run, `keep_gaps` records which rollouts the loop
    has gone on without, so that a rerun of that run decides the same.

    Args:
        ledger: Where answers are kept.
        run_id: The run that asks.
        roles: Who does rollouts, who answers prompts, who judges.
        executor: Runs calls.
        watch: Told about progress.
        breaker: Failures in a row after which nothing more is begun.
    """

    def __init__(
        self,
        ledger: Ledger,
        run_id: str,
        roles: Roles,
        executor: Executor,
        watch: Watch,
        breaker: int = 5,
    ) -> None:
        self._ledger = ledger
        self._run_id = run_id
        self._roles = roles
        self._executor = executor
        self._watch = watch
        self._breaker = Breaker(breaker)
        if roles.notice:
            watch.notice(roles.notice)
        self._probed = False
        self._counted: set[str] = set()
        self._gaps: dict[str, Rollout] = {}
        self.paid_rollouts = 0
        self.paid_calls = 0
        self.usage = Usage()

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run what is not recorded; answer in the order of the requests."""
        keys = [self._roles.key_of(request) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        # A gap comes before what another run recorded since, so that this run decides as it did.
        known = self._ledger.rollouts(list(wanted)) | self._ledger.gaps(self._run_id, list(wanted))
        known |= {key: self._gaps[key] for key in wanted if key in self._gaps}
        recorded = len(known)
        missing = [key for key in wanted if key not in known]
        self._count({key: rollout.usage for key, rollout in known.items()})
        if missing:
            self._probe()
        scores = [rollout.score.value for rollout in known.values() if rollout.score is not None]
        self._watch.activity(Activity("rollouts", recorded, len(wanted), 0, _mean(scores)))
        for pairs in self._run(lambda key: self._measure(wanted[key]), missing):
            failed = {key: rollout for key, rollout in pairs if rollout.score is None}
            known |= self._ledger.store_rollouts(
                self._run_id, [pair for pair in pairs if pair[0] not in failed], self._roles.doer
            )
            known |= failed
            self._gaps |= failed
            self.paid_rollouts += len(pairs)
            scores += [rollout.score.value for _, rollout in pairs if rollout.score is not None]
            self._watch.activity(Activity("rollouts", len(known), len(wanted), len(known) - recorded, _mean(scores)))
        self._counted |= known.keys()
        self.usage += Usage.total(known[key].usage for key in wanted)
        return tuple(_for_task(known[key], request) for key, request in zip(keys, requests, strict=True))

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:
        """Ask what is not recorded; answer in the order of the prompts."""
        prompts, model = list(prompts), self._roles.model
        if model is None:
            raise InfrastructureError("expected an optimizer model to ask, found none")
        keys = [reply_key(model.identity, prompt) for prompt in prompts]
        wanted = dict(zip(keys, prompts, strict=True))
        known = self._ledger.replies(list(wanted))
        recorded = len(known)
        missing = [key for key in wanted if key not in known]
        self._count({key: reply.usage for key, reply in known.items()})
        for answers in self._run(lambda key: _asked(model, wanted[key], schema), missing):
            pairs = [(key, replace(reply, text=readable(reply.text))) for key, reply in answers]
            known |= self._ledger.store_replies(self._run_id, pairs, model.identity)
            self.paid_calls += len(pairs)
            self._watch.activity(Activity("calls", len(known), len(wanted), len(known) - recorded))
        self._counted |= known.keys()
        self.usage += Usage.total(known[key].usage for key in wanted)
        return tuple(known[key] for key in keys)

    def keep_gaps(self) -> None:
        """Record that the loop has gone on without the rollouts that failed since the last call."""
        if self._gaps:
            self._ledger.store_gaps(self._run_id, list(self._gaps.items()))
            self._gaps.clear()

    def _count(self, usages: "dict[str, Usage]") -> None:
        """Count against the caps what recorded answers once cost, each once."""
        for key in usages.keys() - self._counted:
            self._roles.meter.replayed(usages[key])

    def _probe(self) -> None:
        """Before the first paid batch, see that the models that come into play much later are there at all."""
        if self._probed:
            return
        self._probed = True
        for model in (self._roles.model, self._roles.judge):
            if model is not None and model.worst_case(PROBE).usd != 0.0:
                _asked(model, PROBE, "")

    def _measure(self, request: RolloutRequest) -> Rollout:
        self._breaker.check()
        rollout = measure(self._roles.harness, request, self._roles.judge)
        self._breaker.note(rollout.reason or "failed" if rollout.score is None else "")
        return rollout

    def _run(self, function: "Callable[[str], R]", keys: Sequence[str]) -> "Iterator[list[tuple[str, R]]]":
        """Run calls, one at a time until a first one has worked; work that was handed off is waited for at the end."""
        pending: list[AnswersPendingError] = []

        def call(key: str) -> R | AnswersPendingError:
            try:
                return function(key)
            except AnswersPendingError as error:
                return error

        left = list(keys)
        while left:
            part = left if self._breaker.proven or pending else left[:1]
            left = left[len(part) :]
            for group in self._executor.run(call, part):
                pending += [answer for _, answer in group if isinstance(answer, AnswersPendingError)]
                yield [(part[at], answer) for at, answer in group if not isinstance(answer, AnswersPendingError)]
        if pending:
            raise AnswersPendingError(f"{len(pending)} pieces of work are handed off and not done; {pending[0]}")


def _asked(model: Model, prompt: str, schema: str) -> Reply:
    try:
        return model.reply(prompt, schema=schema)
    except ProviderError as error:
        told = f"the model failed: {error}; mend it and run the same command again to continue"
        raise ProviderError(error.kind, told, error.retry_after) from error


def _mean(scores: Sequence[float]) -> float | None:
    return fsum(scores) / len(scores) if scores else None


def _for_task(rollout: Rollout, request: RolloutRequest) -> Rollout:
    """Give a recorded rollout the id its task has in this suite; the key does not depend on it."""
    return rollout if rollout.task_id == request.task.id else replace(rollout, task_id=request.task.id)
