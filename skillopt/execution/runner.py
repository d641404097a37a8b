"""Runner of rollouts and model calls: each answer comes from the ledger, or is recorded there before it is used."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from threading import Lock
from time import monotonic
from typing import Final, TypeVar
from uuid import uuid4

from skillopt.errors import (
    AnswersPendingError,
    FailureKind,
    InfrastructureError,
    InvalidMeasurementError,
    ProviderError,
    SettingsError,
    SkilloptError,
)
from skillopt.execution.drivers import Drivers, shared_verifier
from skillopt.execution.masking import environment_masking
from skillopt.execution.metering import PROBE, OutOfBudget, expect
from skillopt.loop.events import Event
from skillopt.protocols import Executor, Harness, Model, RolloutRequest, VerifierFactory
from skillopt.rollouts import Message, Reply, Rollout, Score, Status, Trajectory, Usage, readable
from skillopt.safety.escaping import count_noun
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.roots import task_roots
from skillopt.sandbox.workspace import Workspace
from skillopt.settings import Settings
from skillopt.storage.ledger import Ledger, reply_key
from skillopt.tasks import digest_of

R = TypeVar("R")
_PERMANENT: Final = frozenset(
    {FailureKind.AUTH, FailureKind.QUOTA, FailureKind.UNKNOWN_MODEL, FailureKind.MISSING_PROGRAM}
)
_AGAIN: Final = "correct this and run the same command again to continue"


@dataclass(frozen=True, slots=True)
class Activity:
    """Progress of a batch, for a display."""

    kind: str
    done: int
    total: int
    paid: int
    score: float | None = None
    asked: int = 0
    spent: Usage = field(default_factory=Usage)
    roles: Mapping[str, Usage] = field(default_factory=dict)


class RunObserver:
    """Callbacks of a run for a front end; by default they do nothing."""

    def begins(self, settings: Settings) -> None:
        """Handle the begin of a run; its settings have the caps."""

    def replays(self, events: int) -> None:
        """Handle that the next so many events were told by an earlier command."""

    def event(self, event: Event) -> None:
        """Handle an event, which is recorded and committed already."""

    def activity(self, activity: Activity) -> None:
        """Handle progress inside a batch."""

    def notice(self, text: str) -> None:
        """Handle a message for the user."""


class RecordedRunner:
    """Records each answer, and the failures that the run went on without, so that its rerun decides the same."""

    def __init__(
        self, ledger: Ledger, run_id: str, drivers: Drivers, observer: RunObserver, executor: Executor | None = None
    ) -> None:
        self._ledger = ledger
        self._run_id = run_id
        self._drivers = drivers
        self._executor = executor or drivers.executor(observer.notice)
        self._observer = observer
        self._breaker = CircuitBreaker(5)  # failures in a row after which no more calls are made
        self._masking = environment_masking()
        if drivers.retry is not None:
            drivers.retry.listener = observer.notice
        if drivers.notice:
            observer.notice(drivers.notice)
        self._probed = False
        self._counted: set[str] = set()
        self._failures: dict[str, Rollout] = {}
        self._told: set[str] = set()
        self._asked: set[str] = set()
        self._cut_off: dict[str, str] = {}
        self._replied: dict[str, str] = {}
        """Keys of replies by the digest of their prompt, but for those that are set aside."""
        self._answered = False
        self.paid_rollouts = 0
        self.paid_calls = 0
        self.usage = Usage()

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run what is not recorded; answer in the order of the requests."""
        keys = [self._drivers.key_of(request) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        self._asked.update(wanted)
        known = self._ledger.rollouts(list(wanted)) | self._ledger.failures(self._run_id, list(wanted))
        known |= {key: self._failures[key] for key in wanted if key in self._failures}
        recorded = len(known)
        scores = _scores(known.values())
        missing = [key for key in wanted if key not in known]
        self._count({key: rollout.usage for key, rollout in known.items()})
        if missing:
            self._probe()
        self._show(Activity("rollouts", recorded, len(wanted), 0, fmean(scores) if scores else None))
        for pairs in self._run(lambda key: self._measure(wanted[key]), missing):
            failed = {key: rollout for key, rollout in pairs if rollout.score is None}
            scored = [pair for pair in pairs if pair[0] not in failed]
            known |= self._ledger.store_rollouts(self._run_id, scored, self._drivers.target_identity) | failed
            self.paid_rollouts += len(pairs)
            self._counted.update(key for key, _ in pairs)
            self._failures |= failed
            for rollout in failed.values():
                reason = rollout.reason or "it failed without a reason"
                if reason not in self._told:
                    self._told.add(reason)
                    self._observer.notice(f"task {rollout.task_id} could not be measured: {reason}")
            scores += _scores(rollout for _, rollout in pairs)
            mean = fmean(scores) if scores else None
            self._show(Activity("rollouts", len(known), len(wanted), len(known) - recorded, mean))
        self.usage += Usage.total(known[key].usage for key in wanted)
        self._expect_answers(known)
        # The key of a rollout does not depend on the id that its task has in this suite.
        return tuple(replace(known[key], task_id=one.task.id) for key, one in zip(keys, requests, strict=True))

    def replies(self, prompts: Iterable[str], schema: str = "", *, review: bool = False) -> tuple[Reply, ...]:
        """Ask what is not recorded; answer in the order of the prompts."""
        prompts, model = list(prompts), self._drivers.reviewer if review else self._drivers.model
        if model is None:
            raise InfrastructureError(f"expected {'a reviewer' if review else 'an optimizer model'} to ask, found none")
        keys = [reply_key(model.identity, prompt) for prompt in prompts]
        wanted = dict(zip(keys, prompts, strict=True))
        aside = {self._own(key): key for key in wanted}
        own = {aside[key]: reply for key, reply in self._ledger.replies(list(aside)).items()}
        known = self._ledger.replies(list(wanted)) | own
        self._replied |= {digest_of(prompt): key for key, prompt in wanted.items() if key not in own}
        recorded = len(known)
        missing = [key for key in wanted if key not in known]
        self._count({key: reply.usage for key, reply in known.items()})
        for answers in self._run(lambda key: _asked(model, wanted[key], schema), missing):
            pairs = [(key, self._kept(reply)) for key, reply in answers]
            stored = self._ledger.store_replies(self._run_id, pairs, model.identity)
            self.paid_calls += len(pairs)
            self._counted.update(stored)
            known |= stored
            self._show(Activity("calls", len(known), len(wanted), len(known) - recorded))
        self.usage += Usage.total(known[key].usage for key in wanted)
        return tuple(known[key] for key in keys)

    def set_aside(self, prompts: Iterable[str]) -> None:
        """Keep replies, by digests of their prompts, for a rerun of this run alone: other runs ask again."""
        keys = [self._replied[prompt] for prompt in prompts if prompt in self._replied]
        self._move([(key, self._own(key)) for key in keys])

    def forget_replies(self, prompts: Iterable[str]) -> None:
        """Begin this run anew, in which no reply could be read: when it is run again, it asks again."""
        self._ledger.forget_events(self._run_id)
        self._move([(key, f"{self._own(key)}{uuid4().hex}") for key in (self._replied[prompt] for prompt in prompts)])

    def _move(self, keys: Sequence[tuple[str, str]]) -> None:
        if keys and self._drivers.model is not None:
            self._ledger.move_replies(self._run_id, keys, self._drivers.model.identity)

    def _own(self, key: str) -> str:
        return digest_of("unread", self._run_id, key)

    def _kept(self, reply: Reply) -> Reply:
        return replace(reply, text=self._masking.text(readable(reply.text)))

    def _expect_answers(self, rollouts: Mapping[str, Rollout]) -> None:
        """Refuse to go on where nothing but refusals and cut-off answers came: they say nothing about a skill."""
        if self._answered:
            return
        for key, rollout in rollouts.items():
            if rollout.score is None:
                continue
            if rollout.score.value == 0.0 and rollout.status in (Status.REFUSAL, Status.LIMIT):
                said = rollout.reason or rollout.trajectory.answer or rollout.score.feedback
                self._cut_off[key] = f"{rollout.status.value}: {said[:200]}"
            else:
                self._answered = True
        if not self._answered and len(self._cut_off) >= 4:  # noqa: PLR2004 - of fewer it can be an accident
            raise InvalidMeasurementError(
                f"expected answers, found {len(self._cut_off)} rollouts of which each was refused or cut off; the "
                f"first: {next(iter(self._cut_off.values()))!r}; ask another model, raise its limits, or change the "
                "tasks"
            )

    def keep_failures(self) -> None:
        """Record the rollouts that failed since the last call, which the loop has gone on without."""
        if self._failures:
            self._ledger.store_failures(self._run_id, list(self._failures.items()))
            self._failures.clear()

    def _show(self, activity: Activity) -> None:
        meter = self._drivers.meter
        self._observer.activity(replace(activity, asked=len(self._asked), spent=meter.spent, roles=meter.by_role))

    def _count(self, usages: "dict[str, Usage]") -> None:
        for key in usages.keys() - self._counted:
            self._drivers.meter.replayed(usages[key])
        self._counted.update(usages)

    def _probe(self) -> None:
        """Before the first paid batch, check that the models that are needed only later do answer."""
        if self._probed:
            return
        self._probed = True
        for model in (self._drivers.model, self._drivers.judge):
            if model is None or model.worst_case(PROBE).usd == 0.0:
                continue
            key = reply_key(f"{self._run_id} {model.identity}", PROBE)  # a run asks once, however often it is begun
            if not (self._run_id and self._ledger.replies([key])):
                answer = _asked(model, PROBE, "")
                if self._run_id:
                    self._ledger.store_replies(self._run_id, [(key, self._kept(answer))], model.identity, "probe")

    def _measure(self, request: RolloutRequest) -> Rollout:
        self._breaker.check()
        # Masked before anything reads it, so that a rerun, which finds what was recorded, decides the same.
        drivers = self._drivers
        rollout = self._masking.rollout(run_rollout(drivers.harness, request, drivers.verifier))
        self._breaker.record(rollout.reason or "failed" if rollout.score is None else "")
        return rollout

    def _run(self, function: "Callable[[str], R]", keys: Sequence[str]) -> "Iterator[list[tuple[str, R]]]":
        """Run calls, one at a time until a first one has worked; work that was handed off is waited for at the end."""
        pending: list[AnswersPendingError] = []
        left = list(keys)

        def call(key: str) -> R | AnswersPendingError:
            try:
                return function(key)
            except AnswersPendingError as error:
                return error

        while left:
            part = left if self._breaker.proven or pending else left[:1]
            left = left[len(part) :]
            for group in self._executor.run(call, part):
                pending += [answer for _, answer in group if isinstance(answer, AnswersPendingError)]
                yield [(part[at], answer) for at, answer in group if not isinstance(answer, AnswersPendingError)]
        if pending:
            raise AnswersPendingError(f"{count_noun(len(pending), 'result')} waiting for answers: {pending[0]}")


def _asked(model: Model, prompt: str, schema: str) -> Reply:
    try:
        return model.reply(prompt, schema=schema)
    except ProviderError as error:
        whom = " ".join(model.identity.split()[:2])
        message = f"{whom}: {_plain(str(error))}; {_AGAIN}"
        raise ProviderError(error.kind, message, error.retry_after) from error


def _scores(rollouts: Iterable[Rollout]) -> list[float]:
    return [rollout.score.value for rollout in rollouts if rollout.score is not None]


def _plain(failure: str) -> str:
    """Return a failure in the words of whoever failed, without our name for its kind."""
    kind, _, words = failure.partition(": ")
    return words if kind in set(FailureKind) else failure


class CircuitBreaker:
    """Counts failures in a row over all workers."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._failures = 0
        self._open = ""
        self.proven = False

    def record(self, failure: str) -> None:
        """Record how a call ended."""
        with self._lock:
            if not failure:
                self._failures, self.proven = 0, True
                return
            self._failures += 1
            if failure.partition(":")[0] in _PERMANENT:
                self._open = self._open or f"stopped: {_plain(failure)}"
            elif self._failures >= self._limit:
                self._open = self._open or f"stopped after {self._failures} failures in a row; last: {_plain(failure)}"

    def check(self) -> None:
        """Refuse a call where the breaker is open."""
        with self._lock:
            if self._open:
                raise InfrastructureError(f"{self._open}; {_AGAIN}")


def run_rollout(harness: Harness, request: RolloutRequest, make_verifier: VerifierFactory = shared_verifier) -> Rollout:
    """Run one rollout in a disposable workspace and score it."""
    begun = monotonic()
    try:
        with Workspace.create(request.task.placed) as workspace:
            trajectory, score = _run_prepared(harness, request, workspace.path, make_verifier)
    except OSError as error:
        raise InfrastructureError(
            f"could not make a workspace for task {request.task.id!r}: {error}; free some space or set TMPDIR"
        ) from error
    trajectory = trajectory.with_texts(readable)  # whatever bytes the target printed, it can be recorded
    score = score and replace(score, feedback=readable(score.feedback))
    status = Status.INFRA_ERROR if score is None else trajectory.status
    seconds = round(monotonic() - begun, 3)
    return Rollout(
        request.task.id,
        request.digest,
        request.repeat,
        trajectory,
        status=status,
        score=score,
        reason=trajectory.reason,
        seconds=seconds,
    )


def _run_prepared(
    harness: Harness, request: RolloutRequest, path: str, make_verifier: VerifierFactory
) -> tuple[Trajectory, Score | None]:
    """Run and score it where the task has an environment of its own, if it has."""
    task = request.task
    if task.environment is None:
        return _run_and_score(harness, request, path, make_verifier)
    try:
        with task_roots().prepared(path, task.environment, task.verifier.files, Sandbox("auto")) as digest:
            trajectory, score = _run_and_score(harness, request, path, make_verifier)
    except InfrastructureError as error:
        return Trajectory(status=Status.INFRA_ERROR, reason=str(error)), None
    noted = (Message("harness", f"image {digest}"),) if digest else ()
    return replace(trajectory, messages=(*trajectory.messages, *noted)), score


def _run_and_score(
    harness: Harness, request: RolloutRequest, path: str, make_verifier: VerifierFactory
) -> tuple[Trajectory, Score | None]:
    try:
        trajectory = harness.run(request, path)
    except (AnswersPendingError, OutOfBudget):
        raise
    except InfrastructureError as error:
        return Trajectory(status=Status.INFRA_ERROR, reason=str(error)), None
    if trajectory.status is Status.INFRA_ERROR:
        return trajectory, None
    if trajectory.status in (Status.TIMEOUT, Status.REFUSAL):
        limit = f"not done within {request.task.timeout:g} s"
        feedback = limit if trajectory.status is Status.TIMEOUT else f"refused: {trajectory.reason}"
        return trajectory, Score(0.0, passed=False, feedback=feedback)
    try:
        found = make_verifier(request.task.verifier_with_inputs).score(trajectory, path)
        score = expect(Score, found, "score of a verifier gives it")
    except (AnswersPendingError, OutOfBudget, SettingsError):
        raise
    except Exception as error:  # noqa: BLE001 - allowed: whatever breaks in a verifier is its crash, not the target's 0
        kind = "" if isinstance(error, SkilloptError) else f"{type(error).__name__}: "
        reason = f"verifier {request.task.verifier.kind!r} broke: {kind}{error}"
        return replace(trajectory, status=Status.INFRA_ERROR, reason=reason), None
    if trajectory.status is Status.LIMIT and not score.passed:
        score = replace(score, feedback=f"{trajectory.reason}\n{score.feedback}".strip())
    return trajectory, score
