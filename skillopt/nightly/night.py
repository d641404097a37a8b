"""What a night may spend, and what became of each skill in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from skillopt.execution.metering import Caps, Meter
from skillopt.rollouts import Usage

_LEAST_USD: Final = 1e-9
"""Less is what adding dollars leaves of nothing."""

SHARE: Final = 0.5
"""Most of a night's budget that one skill may take while others wait."""


class Training(StrEnum):
    """What a night did for a skill."""

    FINISHED = "finished"
    STOPPED = "stopped"
    WAITING = "waiting"
    NOT_DUE = "not due"
    IGNORED = "ignored"
    NO_SUITE = "no suite"
    GONE = "gone"
    BUSY = "busy"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PullRequestUpdate:
    """What was done with a pull request."""

    action: str = ""
    url: str = ""
    notes: tuple[str, ...] = ()
    is_open: bool = False
    withheld: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class SkillNight:
    """Result of a night for one skill."""

    skill: str
    training: Training
    cause: str = ""
    reason: str = ""
    run: str = ""
    versions: int = 0
    rollouts: int = 0
    spent: Usage = field(default_factory=Usage)
    answers: tuple[str, ...] = ()
    offer: PullRequestUpdate = field(default_factory=PullRequestUpdate)
    draft: PullRequestUpdate = field(default_factory=PullRequestUpdate)
    described: str = ""
    recorded: str = ""

    @property
    def offers(self) -> dict[str, PullRequestUpdate]:
        """What was done with each of its pull requests, by the word for the kind."""
        return {"": self.offer, "draft ": self.draft}

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks about all its pull requests."""
        return tuple(note for one in self.offers.values() for note in one.notes)

    def with_usage(self, meter: Meter) -> "SkillNight":
        """Add what was used for the skill."""
        spent = Usage.total((self.spent, *meter.by_role.values()))
        return replace(self, rollouts=self.rollouts + meter.rollouts, spent=spent)


@dataclass(frozen=True, slots=True)
class Nightly:
    """Result of a night."""

    skills: tuple[SkillNight, ...]
    rollouts: int = 0
    spent: Usage = field(default_factory=Usage)

    @property
    def broken(self) -> bool:
        """Whether something failed that a person must look at."""
        return any(one.training is Training.FAILED for one in self.skills)


def with_failure(row: SkillNight, error: Exception) -> SkillNight:
    """Say that something failed for a skill; the first failure comes first: it is the likely cause."""
    reason = f"{row.reason}; then: {error}" if row.training is Training.FAILED else str(error)
    return replace(row, training=Training.FAILED, reason=reason)


@dataclass(slots=True)
class RemainingBudget:
    """The remaining budget of a night, of which recorded rollouts and calls take nothing, and what was used."""

    budget: Caps
    _ended: list[Meter] = field(default_factory=list)

    @property
    def used_up(self) -> str:
        """Why no more training may begin; empty where some may."""
        rollouts, usd = self._left()
        none_left = (self.budget.rollouts > 0 and rollouts < 1) or (self.budget.usd > 0 and usd < _LEAST_USD)
        return "the night's budget is used up" if none_left else ""

    @contextmanager
    def metered(self, share: float = 1.0, most: int = 0) -> Iterator[Meter]:
        """Give one skill a meter, capped at a share of the whole and at what remains; of nothing, closed."""
        total, (rollouts_left, usd_left) = self.budget, self._left()
        rollouts = min(rollouts_left, max(1, int(total.rollouts * share))) if total.rollouts else 0
        usd = min(usd_left, total.usd * share) if total.usd else 0.0
        caps = Caps() if self.used_up else Caps(usd=usd, rollouts=min(rollouts or most, most or rollouts))
        meter = Meter(caps, closed=self.used_up)
        try:
            yield meter
        finally:
            self._ended.append(meter)

    def night(self, rows: tuple[SkillNight, ...]) -> Nightly:
        """Return the result of the night."""
        return Nightly(rows, *self._used())

    def _used(self) -> tuple[int, Usage]:
        usages = (usage for meter in self._ended for usage in meter.by_role.values())
        return sum(meter.rollouts for meter in self._ended), Usage.total(usages)

    def _left(self) -> tuple[int, float]:
        rollouts, spent = self._used()
        return self.budget.rollouts - rollouts, self.budget.usd - (spent.at_least if spent.usd is None else spent.usd)
