"""Metering of concurrent model calls and rollouts: each reserves its worst case before it starts.

A call that does not fit beside those under way waits for them to end; one that does not fit alone is not made. Usage is
counted by role (target, optimizer, judge).
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Condition
from typing import Final

from skillopt.errors import FailureKind, InfrastructureError, ProviderError, SettingsError
from skillopt.execution.wrappers import HarnessWrapper, ModelWrapper
from skillopt.protocols import Harness, Model, RolloutRequest
from skillopt.rollouts import Reply, Status, Trajectory, Usage

__all__ = ["NO_CAPS", "BudgetAccount", "Caps", "Meter", "MeteredHarness", "MeteredModel", "OutOfBudget"]


@dataclass(frozen=True, slots=True)
class Caps:
    """What a run may consume at most; 0 is no cap."""

    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    rollouts: int = 0

    def unbounded(self, worst: Usage) -> str:
        """Name the cap that cannot be kept because nobody knows what a call can cost; empty for none."""
        return "max_usd" if self.usd and worst.usd is None else ""


NO_CAPS: Final = Caps()
"""Nothing is limited."""


class BudgetAccount:
    """Usage that was spent, and usage that is reserved for calls under way."""

    def __init__(self, caps: Caps) -> None:
        self.caps = caps
        self.spent = Usage()
        self._reserved: list[Usage] = []

    @property
    def idle(self) -> bool:
        """Whether no call is under way."""
        return not self._reserved

    def fits(self, worst: Usage) -> bool:
        """Return whether a call that could consume so much can be begun now."""
        return not self._passed(replace(worst, usd=worst.usd or 0.0))

    def reserve(self, worst: Usage) -> Callable[[Usage | None], None]:
        """Set aside what a call could consume at most."""
        if not self.fits(worst):
            raise ValueError(f"expected a call that fits, found one that could consume {worst}")
        held = replace(worst, usd=worst.usd or 0.0)
        self._reserved.append(held)

        def settle(used: Usage | None) -> None:
            self._reserved.remove(held)
            self.spend(held if used is None else replace(used, usd=held.usd if used.usd is None else used.usd))

        return settle

    def spend(self, used: Usage) -> None:
        """Count what was consumed; an unknown price counts as nothing here."""
        self.spent += replace(used, usd=used.usd or 0.0)

    def _passed(self, more: Usage) -> bool:
        total = Usage.total([self.spent, *self._reserved, more])
        caps = self.caps
        tokens = total.input_tokens + total.output_tokens
        return (0 < caps.usd < (total.usd or 0.0)) or (0 < caps.tokens < tokens)


# What failed like this may have been billed all the same.
_PERHAPS_BILLED = frozenset({FailureKind.TIMEOUT, FailureKind.NETWORK, FailureKind.MALFORMED, FailureKind.CRASHED})


class OutOfBudget(InfrastructureError):  # noqa: N818 - an ordinary end of a command, not a failure
    """The next call could pass a cap, so it was not made; what was measured is kept."""


class Meter:
    """Reserves budget for all calls of a run and counts their usage."""

    def __init__(
        self,
        caps: Caps,
        clock: Callable[[], float] = time.monotonic,
        closed: str = "",
    ) -> None:
        self._closed = closed
        self._account = BudgetAccount(caps)
        self._clock = clock
        self._begun = clock()
        self._changed = Condition()
        self._drivers: dict[str, Usage] = defaultdict(Usage)
        self._rollouts = 0
        self._answered = Usage()
        self._failed = 0
        self._refused = False

    @property
    def by_role(self) -> Mapping[str, Usage]:
        """What each role consumed in this command."""
        with self._changed:
            return dict(self._drivers)

    @property
    def spent(self) -> Usage:
        """What counts against the caps by now, recorded answers included."""
        with self._changed:
            return self._account.spent

    @property
    def rollouts(self) -> int:
        """Count the rollouts that were begun in this command."""
        with self._changed:
            return self._rollouts

    @property
    def answered(self) -> Usage:
        """The usage of calls that reported it; `failed_calls` counts the others."""
        with self._changed:
            return self._answered

    @property
    def failed_calls(self) -> int:
        """Count the calls whose failure left their cost unknown."""
        with self._changed:
            return self._failed

    @property
    def refused(self) -> bool:
        """Whether a call or rollout was not made because of a cap."""
        with self._changed:
            return self._refused

    def admit_rollout(self) -> None:
        """Count a rollout that is about to begin."""
        with self._changed:
            if self._closed:
                raise self._refuse(self._closed)
            cap = self._account.caps.rollouts
            if 0 < cap <= self._rollouts:
                raise self._refuse(f"all {cap} rollouts that it may begin are used up; what was measured is kept")
            self._rollouts += 1

    def replayed(self, used: Usage) -> None:
        """Count the original cost of a recorded answer: a run's caps hold over all its commands."""
        with self._changed:
            self._account.spend(used)

    def reserve(self, bound: Callable[[], Usage], seconds: float = 0.0) -> Callable[[str, Usage | None], None]:
        """Reserve the worst case of a call, waiting for others to end if need be."""
        caps = self._account.caps
        worst = bound() if caps.usd or caps.tokens else Usage()
        if caps.unbounded(worst):
            raise SettingsError(
                f"{caps.unbounded(worst)}: expected a target and models whose calls have a known price, found one "
                "without; add its price under [prices] in skillopt.toml, or use max_tokens or max_calls"
            )
        with self._changed:
            if self._closed:
                raise self._refuse(self._closed)
            while not self._account.fits(worst):
                if self._account.idle:
                    raise self._refuse(self._reached(worst))
                self._changed.wait()
            if 0 < caps.seconds < self._clock() - self._begun + seconds:
                step = "run the same command to continue" if seconds <= caps.seconds else "raise max_minutes above that"
                raise self._refuse(
                    f"the cap of {caps.seconds / 60:g} minutes leaves no time for a call of up to {seconds:g} s; {step}"
                )
            settle = self._account.reserve(worst)

        def ended(role: str, used: Usage | None) -> None:
            with self._changed:
                settle(used)
                capped = caps.usd or caps.tokens
                self._drivers[role] += used or (worst if capped else Usage(1, usd=None))
                self._answered += used or Usage()
                self._failed += used is None
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

    def _refuse(self, why: str) -> OutOfBudget:
        self._refused = True
        return OutOfBudget(why)

    def _reached(self, worst: Usage) -> str:
        caps, spent = self._account.caps, self._account.spent
        if caps.usd and (spent.usd or 0.0) + (worst.usd or 0.0) > caps.usd:
            return (
                f"the cap of ${caps.usd:g} leaves ${caps.usd - (spent.usd or 0.0):.4f}, and the next call could "
                f"cost ${worst.usd:.4f}; raise max_usd to go on"
            )
        left = caps.tokens - spent.input_tokens - spent.output_tokens
        could = worst.input_tokens + worst.output_tokens
        return (
            f"the cap of {caps.tokens:,} tokens leaves {left:,}, and the next call could take {could:,}; "
            "raise max_tokens to go on"
        )


class MeteredModel(ModelWrapper):
    """A model that reserves each call before it is made."""

    def __init__(self, model: Model, meter: Meter, role: str, seconds: float = 0.0) -> None:
        super().__init__(model)
        self._seconds = seconds
        self._meter = meter
        self._role = role

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt."""
        with self._meter.call(self._role, lambda: self.inner.worst_case(prompt, system=system), self._seconds) as ended:
            reply = self.inner.reply(prompt, system=system, schema=schema)
            ended(reply.usage)
        return reply


class MeteredHarness(HarnessWrapper):
    """A harness that reserves each rollout before it is begun."""

    def __init__(self, harness: Harness, meter: Meter) -> None:
        super().__init__(harness)
        self._meter = meter

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Do the task."""
        self._meter.admit_rollout()
        with self._meter.call("target", lambda: self.inner.worst_case(request), request.task.timeout) as ended:
            trajectory = self.inner.run(request, workspace)
            reported = trajectory.usage.calls > 0 or trajectory.status is not Status.INFRA_ERROR
            ended(trajectory.usage if reported else None)
        return trajectory
