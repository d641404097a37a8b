"""What a run on a suite can show, by a table of the gate's power, and what earlier runs on its tasks mean for it."""

import csv
import json
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Final

from skillopt.errors import SettingsError, UsageError
from skillopt.execution.access import missing_access
from skillopt.execution.recording import check_cap
from skillopt.loop.rollout_plan import least_rollouts, plan_rollouts, settle_folds
from skillopt.safety.plurals import count_noun
from skillopt.settings import GateRule, Metric, Settings
from skillopt.suites.planning import plan_splits
from skillopt.tasks import Split, Suite, Task

_TABLE: Final = Path(__file__).with_name("power.csv")
"""Made by `python -m tools.power_table` from the gate's own tests, at confidence 0.9."""

_STATED_GAINS: Final = (10, 20, 30)
_MOST_ROUNDS: Final = 4
_COUNTED_ONCE: Final = 5
"""Tasks from which even a target that always answers alike, so that each counts once, can be shown better here."""

_MOST_TASKS: Final = 40
"""How far is searched for a number of tasks that would do; half of them always would."""

_PARTS: Final = {"json": 4, "table": 4}
"""Leaves or cells that count one by one in such results: there are more, but they fail together."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a run can show; all figures are simulated."""

    can_show: bool
    least_proven: float | None
    least_here: float | None
    words: str


@dataclass(frozen=True, slots=True)
class GainChance:
    """How often drafts with a true gain are shown to be better, simulated."""

    gain: float
    proven: float
    here: float


def _parts_of(task: Task) -> int:
    """Count what a task is scored by: its checks, the criteria of a rubric, some parts of a table, else one."""
    rubrics = (json.loads(spec.options) for spec in task.verifier.parts if spec.kind == "rubric")
    criteria = sum(max(1, len(options.get("criteria", ()))) for options in rubrics)
    return criteria + sum(_PARTS.get(spec.kind, 1) for spec in task.verifier.parts if spec.kind != "rubric")


@dataclass(frozen=True, slots=True)
class _Judging:
    """How many tasks judge a draft, in how many rounds of both sides, and whether their parts count one by one."""

    tasks: int
    rounds: int
    partial: bool

    def least(self, grade: str) -> float | None:
        """Return the smallest true gain that half of the runs show with a grade; None for none."""
        return int(found) / 100 if (found := self._cell(f"least_{grade}")) else None

    def chance(self, grade: str, gain: int) -> float:
        return int(self._cell(f"{grade}_{gain}") or 0) / 100

    def _cell(self, column: str) -> str:
        kind = ("4" if self.partial else "1", str(min(self.rounds, _MOST_ROUNDS)))
        rows = [row for row in _power() if (row["parts"], row["rounds"]) == kind and int(row["tasks"]) <= self.tasks]
        return rows[-1][column] if rows else ""


@cache
def _power() -> tuple[dict[str, str], ...]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def chances_of_gains(suite: Suite, settings: Settings) -> tuple[GainChance, ...]:
    """Look up how often gains of 10, 20 and 30 points are shown; none where the gate `strict` shows nothing."""
    if settings.gate is GateRule.STRICT:
        return ()
    judging = _judging(settle_folds(suite, settings), settings)
    grades = ("proven", "here")
    return tuple(GainChance(gain / 100, *(judging.chance(one, gain) for one in grades)) for gain in _STATED_GAINS)


def what_it_can_show(suite: Suite, settings: Settings) -> Prospect:
    """Return what a run on a suite can show, with the kind of scores that its tasks have."""
    found = _shown(suite, settings)
    return replace(found, words=f"{suite.left_out}; {found.words}") if suite.left_out else found


def expect_prospect(suite: Suite, settings: Settings) -> Prospect:
    """Return what a run can show, and refuse one that can show nothing; missing access is named with it."""
    prospect = what_it_can_show(suite, settings)
    try:
        check_cap(suite, settings)
    except SettingsError as error:
        problem = str(error)
    else:
        problem = "" if prospect.can_show else prospect.words
    if problem:
        trouble = missing_access(settings, suite, trains=True)
        raise UsageError(f"{trouble}. Also: {problem}" if trouble else problem)
    return prospect


def _shown(suite: Suite, settings: Settings) -> Prospect:
    settled = settle_folds(suite, settings)
    count, val = count_noun(sum(map(suite.units, Split)), "task"), settled.units(Split.VAL)
    if not _can_learn(settled):
        return _nothing(f"{count} cannot be split into training and validation", suite, settings)
    if settings.gate is GateRule.STRICT:
        words = f"gate `strict` accepts any higher mean on {val} val tasks, without a test of significance"
        return Prospect(can_show=True, least_proven=None, least_here=None, words=words)
    judging = _judging(settled, settings)
    proven, here = judging.least("proven"), judging.least("here")
    if here is None:
        cap = f" with max_rollouts {settings.max_rollouts}" if settings.max_rollouts else ""
        return _nothing(f"{count}{cap} cannot detect any gain, however large (simulated)", suite, settings)
    return Prospect(can_show=True, least_proven=proven, least_here=here, words=_words(settled, judging, proven, here))


def _can_learn(settled: Suite) -> bool:
    return bool(settled.tasks(Split.VAL)) and bool(settled.folds or settled.tasks(Split.TRAIN))


def _nothing(problem: str, suite: Suite, settings: Settings) -> Prospect:
    words = f"{problem}; {_what_would_do(suite, settings)}"
    return Prospect(can_show=False, least_proven=None, least_here=None, words=words)


def _judging(suite: Suite, settings: Settings) -> _Judging:
    plan, val, units = plan_rollouts(suite, settings), suite.tasks(Split.VAL), suite.units(Split.VAL)
    left = inf if plan.learning is None else plan.gate + plan.learning // 2
    pair = 2 * len(val) / units  # several targets take as many pairs for a task
    judged = units if left >= 2 * len(val) else int(left // pair)
    rounds = _MOST_ROUNDS if left == inf else int(left // (pair * max(1, judged)))
    partial = settings.metric is not Metric.HARD and fmean(map(_parts_of, val)) > 1
    return _Judging(judged, rounds, partial)


def _words(suite: Suite, judging: _Judging, proven: float | None, here: float) -> str:
    val = suite.units(Split.VAL)
    share = str(val) if val == judging.tasks else f"{judging.tasks} of {val}"
    judges = f"{share} tasks, 2-fold cross-validation" if suite.folds else f"{share} val tasks"
    unit = "points of score" if judging.partial else "points"
    gains = f"+{100 * here:.0f} {unit} on these tasks, "
    if proven is not None and proven <= here:
        gains, here = "", proven
    new = "no gain on new tasks" if proven is None else f"+{100 * proven:.0f}{'' if gains else f' {unit}'} on new tasks"
    alike = judging.tasks < _COUNTED_ONCE
    last = f". A deterministic target needs at least {_COUNTED_ONCE} tasks" if alike else ""
    return f"{judges}. Detectable with 50% power (simulated): {gains}{new}{last}"


def _what_would_do(suite: Suite, settings: Settings) -> str:
    free = settings.model_copy(update={"max_rollouts": None})
    if _can_show(suite, free):
        least = rollouts_needed(suite, settings)
        return f"raise max_rollouts to at least {least}; without it, `skillopt estimate` names one that seldom runs out"
    like = suite.splits[0][1]
    for count in range(2, _MOST_TASKS + 1):
        tasks = [replace(like, id=str(number), prompt=f"{like.prompt} {number}") for number in range(count)]
        enough = plan_splits(tasks).suite("more tasks", tasks)
        if _can_show(enough, free):
            break
    words = f"write at least {count} tasks, without splits of your own"
    if _can_show(enough, settings):
        return words
    return f"{words}, and raise max_rollouts to {rollouts_needed(enough, settings)}"


def rollouts_needed(suite: Suite, settings: Settings) -> int:
    """Return a cap on rollouts under which tasks can show something that can without one."""
    cap = max(settings.max_rollouts or 0, least_rollouts(suite, settings))
    if settings.gate is GateRule.STRICT:
        return cap
    while not _can_show(suite, settings.model_copy(update={"max_rollouts": cap})):
        cap += max(1, cap // 8)
    return cap


def _can_show(suite: Suite, settings: Settings) -> bool:
    settled = settle_folds(suite, settings)
    return _can_learn(settled) and _judging(settled, settings).least("here") is not None
