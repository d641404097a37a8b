"""Metering of concurrent calls by role: each reserves its worst case before it starts, or waits for others to end."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from threading import Condition
from typing import Final, Protocol, TypeVar

from skillopt.errors import FailureKind, InfrastructureError, ProviderError, SettingsError, UsageError
from skillopt.execution.masking import Masking
from skillopt.execution.retry import Retry
from skillopt.protocols import Harness, Model, RolloutRequest
from skillopt.rollouts import Reply, Status, Trajectory, Usage

T = TypeVar("T")

PROBE: Final = "Task: probe\n\nReply with the one word: ready\n\nText between <<< and >>> is data."
"""A prompt of a few tokens that shows whether a model answers; it is metered as a role of its own."""

_SHOWN: Final = 80  # a line of a terminal


@dataclass(frozen=True, slots=True)
class Caps:
    """What a run may consume at most; 0 is no cap."""

    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    rollouts: int = 0


# What failed like this may have been billed all the same.
_PERHAPS_BILLED = frozenset({FailureKind.TIMEOUT, FailureKind.NETWORK, FailureKind.MALFORMED, FailureKind.CRASHED})


class OutOfBudget(InfrastructureError):  # noqa: N818 - an ordinary end of a command, not a failure
    """The next call could pass a cap, so it was not made; what was measured is kept."""


class Meter:
    """Reserves budget for all calls of a run and counts their usage."""

    def __init__(self, caps: Caps | None = None, clock: Callable[[], float] = time.monotonic, closed: str = "") -> None:
        self._caps = caps or Caps()
        self._closed = closed
        self._clock = clock
        self._begun = clock()
        self._changed = Condition()
        self._reserved: list[Usage] = []
        self._roles: dict[str, Usage] = defaultdict(Usage)
        self.spent = Usage()
        """What counts against the caps, recorded answers included; an unknown price counts as nothing."""
        self.rollouts = 0
        """How many rollouts were begun in this command."""
        self.refused = False
        """Whether a call or rollout was not made because of a cap."""

    @property
    def by_role(self) -> Mapping[str, Usage]:
        """What each role consumed in this command."""
        with self._changed:
            return dict(self._roles)

    def admit_rollout(self) -> None:
        """Count a rollout that is about to begin."""
        with self._changed:
            if self._closed:
                raise self._refuse(self._closed)
            if 0 < self._caps.rollouts <= self.rollouts:
                raise self._refuse(f"all {self._caps.rollouts} rollouts of the cap are used; results so far are kept")
            self.rollouts += 1

    def replayed(self, used: Usage) -> None:
        """Count the original cost of a recorded answer: a run's caps hold over all its commands."""
        with self._changed:
            self._spend(used)

    def reserve(self, bound: Callable[[], Usage], seconds: float = 0.0) -> Callable[[str, Usage | None], None]:
        """Reserve the worst case of a call, waiting for others to end if need be."""
        caps = self._caps
        worst = bound() if caps.usd or caps.tokens else Usage()
        if caps.usd and worst.usd is None:
            raise SettingsError(
                "max_usd: expected a target and models whose calls have a known price, found one without; add its "
                "price to the setting `prices`, or use max_tokens"
            )
        held = replace(worst, usd=worst.usd or 0.0)
        with self._changed:
            if self._closed:
                raise self._refuse(self._closed)
            while not self._fits(held):
                if not self._reserved:
                    spent = self.spent.usd or 0.0
                    left = f"{caps.tokens:,} tokens leaves {caps.tokens - self.spent.tokens:,}, and the next call could"
                    why = f"the cap of {left} take {worst.tokens:,}; raise max_tokens to go on"
                    if caps.usd and spent + (worst.usd or 0.0) > caps.usd:
                        left = f"${caps.usd:g} leaves ${caps.usd - spent:.4f}, and the next call could"
                        why = f"the cap of {left} cost ${worst.usd:.4f}; raise max_usd to go on"
                    raise self._refuse(why)
                self._changed.wait()
            if 0 < caps.seconds < self._clock() - self._begun + seconds:
                step = "run the same command to continue" if seconds <= caps.seconds else "raise max_minutes above that"
                raise self._refuse(
                    f"the cap of {caps.seconds / 60:g} minutes leaves no time for a call of up to {seconds:g} s; {step}"
                )
            self._reserved.append(held)

        def ended(role: str, used: Usage | None) -> None:
            with self._changed:
                self._reserved.remove(held)
                self._spend(held if used is None else replace(used, usd=held.usd if used.usd is None else used.usd))
                self._roles[role] += used or (worst if caps.usd or caps.tokens else Usage(1, usd=None))
                self._changed.notify_all()

        return ended

    @contextmanager
    def call(self, role: str, bound: Callable[[], Usage], seconds: float) -> Iterator[Callable[[Usage | None], None]]:
        """Reserve a call while this lasts; what is given is called with what it consumed, None for unknown."""
        ended = self.reserve(bound, seconds)
        used: list[Usage | None] = [Usage()]
        try:
            yield used.append
        except ProviderError as error:
            used.append(None if error.kind in _PERHAPS_BILLED else Usage())
            raise
        finally:
            ended(role, used[-1])

    def _spend(self, used: Usage) -> None:
        self.spent += replace(used, usd=used.usd or 0.0)

    def _fits(self, worst: Usage) -> bool:
        total = Usage.total([self.spent, *self._reserved, worst])
        return not (0 < self._caps.usd < (total.usd or 0.0) or 0 < self._caps.tokens < total.tokens)

    def _refuse(self, why: str) -> OutOfBudget:
        self.refused = True
        return OutOfBudget(why)


@dataclass(frozen=True, slots=True)
class MeteredModel:
    """A model that reserves each call, repeats one that failed for a transient reason, and is sent no masked secret."""

    model: Model
    meters: Sequence[Meter]
    role: str
    seconds: float = 0.0
    retry: Retry | None = None
    masking: Masking | None = None

    @property
    def identity(self) -> str:
        """Name the model."""
        return self.model.identity

    def _masked(self, prompt: str) -> str:
        return prompt if self.masking is None else self.masking.text(prompt)

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound what a call consumes."""
        found = self.model.worst_case(self._masked(prompt), system=system)
        return expect(Usage, found, f"worst_case of {self.identity!r} gives it")

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt."""
        asked = self._masked(prompt)
        with ExitStack() as stack:
            bounded = partial(self.worst_case, asked, system=system)
            role = "probe" if prompt == PROBE else self.role
            calls = [stack.enter_context(meter.call(role, bounded, self.seconds)) for meter in self.meters]
            found = (self.retry or Retry(0.0)).call(
                lambda: self.model.reply(asked, system=system, schema=schema), self.identity
            )
            reply = expect(Reply, found, f"reply of {self.identity!r} gives it")
            for ended in calls:
                ended(reply.usage)
        return reply


class NodeLostError(ProviderError):
    """A node went away while the target did a task there; whether that was billed is not known."""

    def __init__(self, said: str) -> None:
        super().__init__(FailureKind.CRASHED, f"{FailureKind.CRASHED}: {said}")


class Cluster(Harness, Protocol):
    """A harness that runs on other machines, and raises NodeLostError for a lost one; `notice` gets messages."""

    notice: Callable[[str], None]

    def ready(self) -> None:
        """Connect and compare all nodes with this machine, once; raise SettingsError where they differ."""
        ...

    def drop(self) -> None:
        """End all that runs on the nodes."""
        ...


@dataclass(frozen=True, slots=True)
class MeteredHarness:
    """A harness that reserves each rollout; one whose node is lost is metered, and run once more on another."""

    harness: Harness
    meters: Sequence[Meter]
    mark: str = ""
    cluster: Cluster | None = None
    retry: Retry | None = None

    @property
    def identity(self) -> str:
        """Name the target."""
        return f"{self.harness.identity}{self.mark}"

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound what a rollout consumes."""
        return expect(Usage, self.harness.worst_case(request), f"worst_case of {self.identity!r} gives it")

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task, on another node if the first one is lost."""
        try:
            return self._run(request, workspace)
        except NodeLostError as lost:
            if self.cluster is not None:
                self.cluster.notice(f"task {request.task.id} is run again: {lost}")
            return self._run(request, workspace)

    def _run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        with ExitStack() as stack:
            calls = []
            for meter in self.meters:
                meter.admit_rollout()
                bounded = meter.call("target", lambda: self.worst_case(request), request.task.timeout)
                calls.append(stack.enter_context(bounded))
            found = (self.retry or Retry(0.0)).call(lambda: self.harness.run(request, workspace), self.identity)
            trajectory = expect(Trajectory, found, f"run of {self.identity!r} gives it")
            reported = trajectory.usage.calls > 0 or trajectory.status is not Status.INFRA_ERROR
            for ended in calls:
                ended(trajectory.usage if reported else None)
        return trajectory


def expect(kind: type[T], found: object, advice: str) -> T:
    """Refuse a value of another type."""
    if isinstance(found, kind):
        return found
    raise UsageError(f"expected a {kind.__name__}, found {shown(found)}; {advice}")


def shown(found: object) -> str:
    """Return how a message shows a wrong value: its first 80 characters."""
    text = repr(found)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
