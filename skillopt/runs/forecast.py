"""Forecast of a run, which spends nothing: what it can show, the rollouts, time and dollars it takes, the cap to set.

What it can show is read from a table of the gate's power; what it takes from simulated runs and recorded costs.
"""

import csv
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.access import given_keys, missing_access
from skillopt.execution.drivers import checks_warning, load_drivers, load_target
from skillopt.loop.caps import least_rollouts, plan_rollouts, settle_folds
from skillopt.project import Selection
from skillopt.protocols import RolloutRequest
from skillopt.review.gate import whole_repeats
from skillopt.rollouts import Status
from skillopt.safety.escaping import count_noun
from skillopt.settings import GateRule, Metric, Preset, Settings
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.storage.ledger import Ledger
from skillopt.targets.drivers import find_harness_driver, find_model_driver
from skillopt.targets.prices import cost_of, find_price, write_dollars
from skillopt.tasks import Split, Suite, Task

_TABLE: Final = Path(__file__).with_name("power.csv")
"""Made by `python -m tools.power_table` from the gate's own tests, at confidence 0.9."""

_MOST_ROUNDS: Final = 4  # the last that the table has
_COUNTED_ONCE: Final = 5
"""Tasks from which even a target that always answers alike, so that each counts once, can be shown better here."""

_PARTS: Final = 4
"""Leaves or cells of JSON and tables that count one by one: there are more, but they fail together."""

_GATED_TWICE: Final = 12
"""Rollouts a `val` task from which a cap leaves the last gate all it can use."""


@dataclass(frozen=True, slots=True)
class Range:
    """A median, and the range that holds eight of ten runs."""

    low: float
    median: float
    high: float

    def __iter__(self) -> Iterator[float]:
        """Yield low, median and high."""
        return iter((self.low, self.median, self.high))

    def below(self, cap: float | None) -> "Range":
        """Return each figure, or a cap where that is lower."""
        return Range(*(min(figure, cap or math.inf) for figure in self))

    def written(self, write: Callable[[float], str] = "{:,.0f}".format) -> str:
        """Return the median and its range, once where all look the same."""
        low, median, high = map(write, self)
        return median if low == high else f"{median} ({low} to {high})"


_RUNS: Final = {
    Preset.DEFAULT: {
        6: (Range(3.7, 9.7, 16.7), Range(1, 4, 6)),
        12: (Range(4.0, 8.3, 12.9), Range(2, 4, 7)),
        24: (Range(4.7, 6.9, 13.6), Range(3, 6, 13)),
        48: (Range(2.6, 4.9, 8.7), Range(3, 5, 13)),
    },
    Preset.PAPER: {
        6: (Range(4.5, 7.0, 8.0), Range(10, 12, 14)),
        12: (Range(5.5, 7.5, 8.0), Range(12, 14, 14)),
        24: (Range(7.4, 7.5, 8.0), Range(14, 16, 22)),
        48: (Range(7.2, 7.7, 8.1), Range(23, 26, 30)),
    },
}
"""Tasks → rollouts a task and optimizer calls of a run, as `python -m benchmarks.run_table` simulates it."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """Whether a run can show anything, and the gains that it can detect, in words."""

    can_show: bool
    words: str


@cache
def _table(parts: str, rounds: str) -> tuple[dict[str, str], ...]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(row for row in csv.DictReader(file) if (row["parts"], row["rounds"]) == (parts, rounds))


def _power(suite: Suite, settings: Settings) -> tuple[int, float | None, float | None]:
    """Return how many tasks judge a draft, and the smallest gains that are shown on new tasks, and on these."""
    plan, val = plan_rollouts(suite, settings), suite.tasks(Split.VAL)
    left = math.inf if plan.learning is None else plan.gate + plan.learning // 2
    judged = len(val) if left >= 2 * len(val) else int(left // 2)
    rounds = min(_MOST_ROUNDS, left // (2 * max(1, judged)))
    table = _table("4" if _is_partial(val, settings) else "1", f"{rounds:.0f}")
    rows = [row for row in table if int(row["tasks"]) <= judged]
    cells = [rows[-1][name] if rows else "" for name in ("least_proven", "least_here")]
    proven, here = (int(cell) / 100 if cell else None for cell in cells)
    return judged, proven, here


def what_it_can_show(suite: Suite, settings: Settings) -> Prospect:
    """Return what a run on a suite can show, with the kind of scores that its tasks have."""
    settled = settle_folds(suite, settings)
    left_out, val = f"{suite.left_out}; " if suite.left_out else "", len(settled.tasks(Split.VAL))
    if not _can_show(suite, settings):
        count = count_noun(len(suite.splits), "task")
        if _can_show(suite, settings.model_copy(update={"max_rollouts": None})):
            problem = f"with max_rollouts {settings.max_rollouts} cannot detect any gain, however large"
            step = f"raise it to {cap_to_set(suite, settings)}"
        else:
            partial = _is_partial([task for _, task in suite.splits], settings)
            rows = _table("4" if partial else "1", str(_MOST_ROUNDS))
            able = "detect any gain, however large" if _is_split(suite) else "be split into training and validation"
            problem, enough = f"cannot {able}", next(row["tasks"] for row in rows if row["least_here"])
            step = f"write at least {enough} tasks, without splits of your own"
        return Prospect(can_show=False, words=f"{left_out}{count} {problem}; {step}")
    if settings.gate is GateRule.STRICT:
        words = f"{left_out}gate `strict` accepts any higher mean on {val} val tasks, without a test of significance"
        return Prospect(can_show=True, words=words)
    judged, proven, here = _power(settled, settings)
    proven = None if settled.folds else proven
    if proven is None and here is None:
        cap = f"max_rollouts {settings.max_rollouts} is enough for a draft and the probability that it is better"
        return Prospect(can_show=True, words=f"{left_out}{cap}, and too few to show a gain")
    share = f"{judged}{'' if val == judged else f' of {val}'}"
    judges = f"{share} tasks, which teach as well" if settled.folds else f"{share} val tasks"
    unit = " points of score" if _is_partial(settled.tasks(Split.VAL), settings) else " points"
    gains = [f"+{100 * here:.0f}{unit} on these tasks"] if here and not (proven and proven <= here) else []
    new = "no gain" if proven is None else f"+{100 * proven:.0f}{'' if gains else unit}"
    last = f". A deterministic target needs at least {_COUNTED_ONCE} tasks" if judged < _COUNTED_ONCE else ""
    shown = ", ".join([*gains, f"{new} on new tasks{last}"])
    words = f"{left_out}{judges}. Detectable with 50% power (simulated): {shown}"
    return Prospect(can_show=True, words=words)


def expect_prospect(suite: Suite, settings: Settings) -> Prospect:
    """Return what a run can show, and refuse one that can show nothing; missing access is named with it."""
    prospect = what_it_can_show(suite, settings)
    if not prospect.can_show:
        trouble = missing_access(settings, suite, trains=True)
        raise UsageError(f"{trouble}. Also: {prospect.words}" if trouble else prospect.words)
    return prospect


def _is_split(suite: Suite) -> bool:
    return bool(suite.tasks(Split.VAL) and (suite.folds or suite.tasks(Split.TRAIN)))


def _can_show(suite: Suite, settings: Settings) -> bool:
    settled, cap = settle_folds(suite, settings), settings.max_rollouts
    if not _is_split(settled) or (cap is not None and cap < least_rollouts(suite, settings)):
        return False
    if settings.gate is GateRule.STRICT or (settled.folds and cap is not None):
        return True  # a draft with its probability is worth a small cap
    return _power(settled, settings)[-1] is not None


def _is_partial(tasks: Sequence[Task], settings: Settings) -> bool:
    """Return whether tasks are scored by more than one part: checks, criteria of a rubric, some parts of a table."""
    specs = [spec for task in tasks for spec in task.verifier.parts]
    criteria = (json.loads(spec.options).get("criteria", ()) for spec in specs if spec.kind == "rubric")
    others = (_PARTS if spec.kind in ("json", "table") else 1 for spec in specs if spec.kind != "rubric")
    parts = sum(max(1, len(own)) for own in criteria) + sum(others)
    return settings.metric is not Metric.HARD and parts > len(tasks)


def likely_calls(suite: Suite, settings: Settings) -> tuple[Range, Range]:
    """Return the rollouts and the optimizer calls of a training, by simulated runs on about as many tasks."""
    held_out, judged = len(suite.tasks(Split.TEST)), len(suite.tasks(Split.VAL))
    tasks = len(suite.splits) - held_out
    rows = _RUNS[settings.preset]
    size = max((size for size in rows if size <= tasks), default=min(rows))
    rollouts, calls = rows[size]
    # The held-out test, and the tasks that each further harness measures the accepted text by, are run with both texts.
    fixed = 2 * held_out + 2 * judged * whole_repeats(judged) * len(settings.targets[1:])
    more = max(1.0, tasks / size)
    return Range(*(figure * tasks + fixed for figure in rollouts)), Range(*(figure * more for figure in calls))


def cap_to_set(suite: Suite, settings: Settings) -> int:
    """Return a cap that nine of ten runs stay below, and under which tasks show what they can show without one."""
    val = len(settle_folds(suite, settings).tasks(Split.VAL))
    least = max(likely_calls(suite, settings)[0].high, _GATED_TWICE * val, least_rollouts(suite, settings))
    cap = 10 * math.ceil(least / 10)
    while not _can_show(suite, settings.model_copy(update={"max_rollouts": cap})):
        cap += 10
    return cap


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

_CHATS: Final = ("anthropic", "openai", "openai-compatible")
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
    host = urlsplit(settings.base_url).hostname or ""
    try:
        is_near = ip_address(host).is_private  # on this machine or in its own network
    except ValueError:
        is_near = "." not in host or host.endswith((".local", ".lan", ".localhost"))
    drivers = [name.removeprefix("chat/").partition("/")[0] for name in names.split(",")]
    return any(one not in _FREE and not (one == "openai-compatible" and is_near) for one in drivers)


def _typical(kind: str, name: str, settings: Settings, own: float = 0.0) -> Cost:
    """Return what a call typically takes, with so many tokens of our own; what runs here costs nothing."""
    driver, _, model = name.removeprefix("chat/").partition("/")
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
    timed: float | None = None  # seconds of the one call that a local server was asked for


def _time_call(root: Path, settings: Settings, suite: Suite, skill: Skill) -> float | None:
    """Time one answer of a chat server on this machine or in its network, which costs nothing; None for no answer."""
    harness = settings.by_target[0].harness
    if harness.removeprefix("chat/").partition("/")[0] not in _CHATS or is_paid(harness, settings):
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
    seconds = _time_call(project.root, settings, suite, target.skill()) if timed and not costs[0].recorded else None
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
