"""Forecast of what a run takes, rollouts, minutes and dollars, by simulated runs and recorded costs; spends nothing."""

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from skillopt.errors import SkilloptError
from skillopt.execution.access import given_keys, missing_access
from skillopt.execution.drivers import checks_warning, load_drivers, load_target
from skillopt.project import Selection
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Status
from skillopt.runs.prospect import Prospect, Range, cap_to_set, expect_prospect, likely_calls
from skillopt.settings import Settings
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.storage.ledger import Ledger
from skillopt.targets.drivers import find_harness_driver, find_model_driver
from skillopt.targets.prices import cost_of, find_price, write_dollars
from skillopt.tasks import Suite

_TYPICAL: Final = {
    "agent": (29_000, 115_000, 2_500, 70.0),
    "rollout": (150, 0, 800, 10.0),
    "judge": (2_000, 0, 400, 10.0),
    "optimizer": (6_000, 0, 2_500, 45.0),
}
"""Tokens read, read from the provider's cache, and written, and seconds, beside the skill and the task.

All of it within a factor of two. An agent is taken to make seven requests, each of which begins with 16,000 to 18,000
tokens of its own, as users report for an empty folder (anthropics/claude-code issues 17567 and 95129, openai/codex
issue 16212).
"""
_WITHIN: Final = (0.5, 1.0, 2.0)
_MODELS: Final = {"claude-code": "claude-sonnet-5", "codex": "gpt-5.3-codex"}
"""The model whose price an agent has that was given none."""

_CHATS: Final = frozenset({"anthropic", "openai", "openai-compatible"})
_FREE: Final = frozenset({"", "demo", "handoff"})


@dataclass(frozen=True, slots=True)
class Cost:
    """What a rollout or an optimizer call takes: the mean of so many recorded ones, of none where it is typical."""

    tokens: float
    usd: float | None
    seconds: float | None
    recorded: int = 0


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run is likely to take."""

    rollouts: Range
    calls: Range
    tokens: Range
    usd: Range | None
    minutes: Range | None

    @property
    def time(self) -> str:
        """The duration in words."""
        return self.minutes.written(write_duration) if self.minutes else "time unknown"

    @property
    def price(self) -> str:
        """The cost in dollars."""
        return self.usd.written(write_dollars) if self.usd else "price unknown"

    @property
    def words(self) -> str:
        """All of it in one line."""
        calls = [f"{self.calls.written()} optimizer calls"] if self.calls.high else []
        return ", ".join([f"about {self.rollouts.written()} rollouts", *calls, self.time, self.price])


def write_duration(minutes: float) -> str:
    """Write a time in minutes, or hours and minutes."""
    hours, rest = divmod(round(minutes), 60)
    return f"{hours} h {rest:02}" if hours else f"{rest} min" if minutes >= 1 else "under 1 min"


def forecast(rollouts: Range, calls: Range, costs: tuple[Cost, Cost], settings: Settings) -> Forecast:
    """Say what numbers of rollouts and optimizer calls take, each figure under its cap."""
    rollouts = rollouts.below(settings.max_rollouts)
    pairs = [(number, cost) for number, cost in zip((rollouts, calls), costs, strict=True) if number.high]

    def total(each: Sequence[float | None], cap: float | None) -> Range | None:
        sums = [0.0] * 3
        for (number, cost), one in zip(pairs, each, strict=True):
            if one is None:
                return None
            within = (1.0, 1.0, 1.0) if cost.recorded else _WITHIN
            sums = [done + figure * one * factor for done, figure, factor in zip(sums, number, within, strict=True)]
        return Range(*sums).below(cap)

    minutes = [cost.seconds and cost.seconds / 60 / (settings.workers if cost is costs[0] else 1) for _, cost in pairs]
    return Forecast(
        rollouts=rollouts,
        calls=calls,
        tokens=total([cost.tokens for _, cost in pairs], settings.max_tokens) or Range(0, 0, 0),
        usd=total([cost.usd for _, cost in pairs], settings.max_usd),
        minutes=total(minutes, settings.max_minutes),
    )


def is_paid(names: str, settings: Settings) -> bool:
    """Return whether calls by one of some drivers cost money, or are taken off a subscription."""
    drivers = [_parts(name)[0] for name in names.split(",")]
    return any(one not in _FREE and (one != "openai-compatible" or not _is_near(settings.base_url)) for one in drivers)


def _is_near(address: str) -> bool:
    """Return whether a server is on this machine or in its own network; one that is not named yet is nowhere."""
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".localhost"))


def _parts(name: str) -> tuple[str, str]:
    """Return the client and the model that a name chooses, empty for none."""
    client, _, model = name.removeprefix("chat/").partition("/")
    return client, model


def _typical(kind: str, name: str, settings: Settings, own: float = 0.0) -> Cost:
    """Return what a call typically takes, with so many tokens of our own; what runs here costs nothing."""
    driver, model = _parts(name)
    if not driver:
        return Cost(0, None, None)
    if driver in _FREE:  # a program takes no time, a person takes any
        return Cost(0, 0.0, None if driver == "handoff" else 0.05)
    kind = "agent" if kind == "rollout" and driver not in _CHATS else kind
    read, cached, written, seconds = _TYPICAL[kind]
    price = find_price(model or _MODELS.get(driver, ""), settings.prices)
    usd = cost_of(price, round(read + own), written, cache_read=cached)
    return Cost(read + own + cached + written, usd, seconds)


def costs_of(root: Path, settings: Settings, suite: Suite, skill: Skill) -> tuple[Cost, Cost]:
    """Return what a rollout and an optimizer call take: the mean of recorded ones, else as is typical."""
    tasks, text = [task for _, task in suite.splits], estimate_tokens(skill.document.text)
    size = fmean(estimate_tokens(task.prompt) + sum(len(file.content) for file in task.files) / 4 for task in tasks)
    rollout = _typical("rollout", settings.by_target[0].harness, settings, text + size)
    if times := fmean(2.0 * task.verifier.judged for task in tasks):  # in both orders of its criteria
        judge = _typical("judge", settings.judge or settings.model, settings)
        usd, seconds = (
            None if one is None or other is None else one + times * other
            for one, other in ((rollout.usd, judge.usd), (rollout.seconds, judge.seconds))
        )
        rollout = Cost(rollout.tokens + times * judge.tokens, usd, seconds)
    call = _typical("optimizer", settings.model, settings, text)
    # Where rollouts run changes none of their identities, and a forecast needs neither Ray nor its cluster.
    here = settings.model_copy(update={"ray": ""})
    # There may be no ledger yet, and a client that is missing has recorded nothing that could be found.
    with suppress(SkilloptError), closing(Ledger.open(root, read_only=True)) as ledger:
        drivers = load_drivers(here, suite, root, optimizer=bool(settings.model))
        count, tokens, usd = ledger.mean_cost("rollout", drivers.target_identity)
        if count:
            rollout = Cost(tokens, usd, ledger.mean_seconds(drivers.target_identity) or rollout.seconds, count)
        count, tokens, usd = ledger.mean_cost("reply", drivers.model.identity if drivers.model else "")
        call = Cost(tokens, usd, call.seconds, count) if count else call
    return rollout, call


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a training takes and can show."""

    skill: str
    harness: str
    model: str
    likely: Forecast
    costs: tuple[Cost, Cost]
    prospect: Prospect
    caution: str
    keys: str
    cap: str
    missing: str
    timed: float | None = None
    """Seconds of the one call that a local server was asked for."""


def _time_call(root: Path, settings: Settings, suite: Suite, skill: Skill) -> float | None:
    """Time one answer of a chat server on this machine or in its network, which costs nothing; None for no answer."""
    client, _ = _parts(settings.by_target[0].harness)
    if client not in _CHATS or is_paid(settings.by_target[0].harness, settings):
        return None
    begun = monotonic()
    try:
        with TemporaryDirectory() as workspace:
            answer = load_target(settings, root).run(RolloutRequest(skill, suite.splits[0][1]), workspace)
    except SkilloptError:
        return None
    return monotonic() - begun if answer.status is Status.OK else None


def estimate(selection: Selection, *, timed: bool = False) -> Estimate:
    """Look up what a training takes and can show, and the cap to set; spends nothing.

    It runs nothing either, but for one call of a local server where that is asked for and no rollout is recorded yet.
    """
    project = selection.project()
    target = project.target(selection)
    settings, suite = target.settings, target.suite()
    for name in settings.targets:
        find_harness_driver(name, settings.agents)
    if settings.model:
        find_model_driver(settings.model)
    prospect, costs = expect_prospect(suite, settings), costs_of(project.root, settings, suite, target.skill())
    asked = timed and not costs[0].recorded
    seconds = _time_call(project.root, settings, suite, target.skill()) if asked else None
    costs = (replace(costs[0], seconds=seconds), costs[1]) if seconds is not None else costs
    return Estimate(
        skill=target.name,
        harness=settings.harness,
        model=settings.model,
        likely=forecast(*likely_calls(suite, settings), costs, settings),
        costs=costs,
        prospect=prospect,
        caution=checks_warning(suite, settings.sandbox),
        keys="; ".join(filter(None, (given_keys(name, settings.agents) for name in settings.targets))),
        cap="" if settings.capped else f"--max-rollouts {cap_to_set(suite, settings)}",
        missing=missing_access(settings, suite, trains=True),
        timed=seconds,
    )
