"""What a run on a suite can show, by a table of the gate's power, how many rollouts it takes, and the cap to set."""

import csv
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from skillopt.errors import UsageError
from skillopt.execution.access import missing_access
from skillopt.loop.rollout_plan import least_rollouts, plan_rollouts, settle_folds
from skillopt.review.gate import whole_repeats
from skillopt.safety.plurals import count_noun
from skillopt.settings import GateRule, Metric, Preset, Settings
from skillopt.tasks import Split, Suite, Task

_TABLE: Final = Path(__file__).with_name("power.csv")
"""Made by `python -m tools.power_table` from the gate's own tests, at confidence 0.9."""

_MOST_ROUNDS: Final = 4
_COUNTED_ONCE: Final = 5
"""Tasks from which even a target that always answers alike, so that each counts once, can be shown better here."""

_PARTS: Final = {"json": 4, "table": 4}
"""Leaves or cells that count one by one in such results: there are more, but they fail together."""

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

    def times(self, factor: float, more: float = 0.0) -> "Range":
        """Return each figure multiplied, and more added to it."""
        return Range(*(figure * factor + more for figure in self))

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
    """What a run can show: the smallest true gains that half of the runs detect, simulated; None for none."""

    can_show: bool
    words: str
    least_proven: float | None = None
    least_here: float | None = None


class _Power(NamedTuple):
    """How many tasks judge a draft, whether their parts count one by one, and the smallest gains that are shown."""

    tasks: int
    partial: bool
    proven: float | None
    here: float | None


@cache
def _table(parts: str, rounds: str) -> tuple[dict[str, str], ...]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(row for row in csv.DictReader(file) if (row["parts"], row["rounds"]) == (parts, rounds))


def _power(suite: Suite, settings: Settings) -> _Power:
    plan, val = plan_rollouts(suite, settings), suite.tasks(Split.VAL)
    left = math.inf if plan.learning is None else plan.gate + plan.learning // 2
    judged = len(val) if left >= 2 * len(val) else int(left // 2)
    rounds = min(_MOST_ROUNDS, left // (2 * max(1, judged)))
    partial = _is_partial(val, settings)
    rows = [row for row in _table("4" if partial else "1", f"{rounds:.0f}") if int(row["tasks"]) <= judged]
    cells = [rows[-1][name] if rows else "" for name in ("least_proven", "least_here")]
    return _Power(judged, partial, *(int(cell) / 100 if cell else None for cell in cells))


def what_it_can_show(suite: Suite, settings: Settings) -> Prospect:
    """Return what a run on a suite can show, with the kind of scores that its tasks have."""
    settled = settle_folds(suite, settings)
    left_out, val = f"{suite.left_out}; " if suite.left_out else "", len(settled.tasks(Split.VAL))
    if not _can_show(suite, settings):
        return Prospect(can_show=False, words=f"{left_out}{_obstacle(suite, settings)}")
    if settings.gate is GateRule.STRICT:
        words = f"{left_out}gate `strict` accepts any higher mean on {val} val tasks, without a test of significance"
        return Prospect(can_show=True, words=words)
    judged, partial, proven, here = _power(settled, settings)
    proven = None if settled.folds else proven
    if proven is None and here is None:
        cap = f"max_rollouts {settings.max_rollouts} is enough for a draft and the probability that it is better"
        return Prospect(can_show=True, words=f"{left_out}{cap}, and too few to show a gain")
    share = f"{judged}{'' if val == judged else f' of {val}'}"
    judges = f"{share} tasks, which teach as well" if settled.folds else f"{share} val tasks"
    unit = " points of score" if partial else " points"
    gains = [f"+{100 * here:.0f}{unit} on these tasks"] if here and not (proven and proven <= here) else []
    new = "no gain" if proven is None else f"+{100 * proven:.0f}{'' if gains else unit}"
    last = f". A deterministic target needs at least {_COUNTED_ONCE} tasks" if judged < _COUNTED_ONCE else ""
    shown = ", ".join([*gains, f"{new} on new tasks{last}"])
    words = f"{left_out}{judges}. Detectable with 50% power (simulated): {shown}"
    return Prospect(can_show=True, words=words, least_proven=proven, least_here=here)


def expect_prospect(suite: Suite, settings: Settings) -> Prospect:
    """Return what a run can show, and refuse one that can show nothing; missing access is named with it."""
    prospect = what_it_can_show(suite, settings)
    if not prospect.can_show:
        trouble = missing_access(settings, suite, trains=True)
        raise UsageError(f"{trouble}. Also: {prospect.words}" if trouble else prospect.words)
    return prospect


def _obstacle(suite: Suite, settings: Settings) -> str:
    """Return why nothing can be shown, and what would do."""
    free, count = settings.model_copy(update={"max_rollouts": None}), count_noun(len(suite.splits), "task")
    if _can_show(suite, free):
        step = f"raise it to {cap_to_set(suite, settings)}"
        return f"{count} with max_rollouts {settings.max_rollouts} cannot detect any gain, however large; {step}"
    partial = _is_partial([task for _, task in suite.splits], settings)
    enough = next(row["tasks"] for row in _table("4" if partial else "1", str(_MOST_ROUNDS)) if row["least_here"])
    problem = "detect any gain, however large" if _can_learn(suite) else "be split into training and validation"
    return f"{count} cannot {problem}; write at least {enough} tasks, without splits of your own"


def _can_learn(settled: Suite) -> bool:
    return bool(settled.tasks(Split.VAL) and (settled.folds or settled.tasks(Split.TRAIN)))


def _can_show(suite: Suite, settings: Settings) -> bool:
    settled, cap = settle_folds(suite, settings), settings.max_rollouts
    if not _can_learn(settled) or (cap is not None and cap < least_rollouts(suite, settings)):
        return False
    if settings.gate is GateRule.STRICT or (settled.folds and cap is not None):
        return True  # a draft with its probability is worth a small cap
    return _power(settled, settings).here is not None


def _is_partial(tasks: Sequence[Task], settings: Settings) -> bool:
    return settings.metric is not Metric.HARD and fmean(map(_parts_of, tasks)) > 1


def _parts_of(task: Task) -> int:
    """Count what a task is scored by: its checks, the criteria of a rubric, some parts of a table, else one."""
    rubrics = (json.loads(spec.options) for spec in task.verifier.parts if spec.kind == "rubric")
    criteria = sum(max(1, len(options.get("criteria", ()))) for options in rubrics)
    return criteria + sum(_PARTS.get(spec.kind, 1) for spec in task.verifier.parts if spec.kind != "rubric")


def likely_calls(suite: Suite, settings: Settings) -> tuple[Range, Range]:
    """Return the rollouts and the optimizer calls of a training, by simulated runs on about as many tasks."""
    held_out, judged = len(suite.tasks(Split.TEST)), len(suite.tasks(Split.VAL))
    tasks = len(suite.splits) - held_out
    rows = _RUNS[settings.preset]
    size = max((size for size in rows if size <= tasks), default=min(rows))
    rollouts, calls = rows[size]
    # The held-out test, and the tasks that each further harness measures the accepted text by, are run with both texts.
    fixed = 2 * held_out + 2 * judged * whole_repeats(judged) * len(settings.targets[1:])
    return rollouts.times(tasks, fixed), calls.times(max(1.0, tasks / size))


def cap_to_set(suite: Suite, settings: Settings) -> int:
    """Return a cap that nine of ten runs stay below, and under which tasks show what they can show without one."""
    val = len(settle_folds(suite, settings).tasks(Split.VAL))
    least = max(likely_calls(suite, settings)[0].high, _GATED_TWICE * val, least_rollouts(suite, settings))
    cap = 10 * math.ceil(least / 10)
    while not _can_show(suite, settings.model_copy(update={"max_rollouts": cap})):
        cap += 10
    return cap
