"""What a run on a suite can show, before anything is spent; and what earlier runs on the same tasks mean for it."""

import json
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from skillopt.errors import SettingsError, UsageError
from skillopt.execution.logins import find_trouble
from skillopt.execution.recording import check_cap
from skillopt.loop.rollout_plan import least_rollouts, plan_rollouts, settle_folds
from skillopt.runs.earlier_spending import runs_on
from skillopt.safety.plurals import count_noun
from skillopt.settings import GateRule, Metric, Settings
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.suites.planning import plan_splits
from skillopt.suites.power import Judging, chances, parts_of, smallest_gain_shown
from skillopt.tasks import Split, Suite, Task

__all__ = [
    "GainChance",
    "Prospect",
    "chances_of_gains",
    "describe_earlier_runs",
    "expect_prospect",
    "rollouts_needed",
    "what_it_can_show",
]

_STATED_GAINS: Final = (0.1, 0.2, 0.3)
_GATE_ROUNDS: Final = 3
_HERE_ROUNDS: Final = 4
_COUNTED_ONCE: Final = 5
"""Tasks from which even a target that always answers alike, so that each counts once, can be shown better here."""

_MOST_TASKS: Final = 40
"""How far is searched for a number of tasks that would do; half of them always would."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a run can show; all figures are simulated."""

    can_show: bool
    least_proven: float | None
    least_here: float | None
    words: str


@dataclass(frozen=True, slots=True)
class GainChance:
    """How often drafts that are truly better by so much are shown to be, simulated."""

    gain: float
    proven: float
    here: float


def chances_of_gains(suite: Suite, settings: Settings) -> tuple[GainChance, ...]:
    """Simulate how often gains of 10, 20 and 30 points are shown; none where the gate `strict` shows nothing."""
    if settings.gate is GateRule.STRICT:
        return ()
    judging = _judging(settle_folds(suite, settings), settings)
    found = ((gain, chances(judging, gain)) for gain in _STATED_GAINS)
    return tuple(GainChance(gain, one.proven, one.here) for gain, one in found)


def what_it_can_show(suite: Suite, settings: Settings) -> Prospect:
    """Simulate what a run on a suite can show, with the kind of scores that its tasks have."""
    found = _simulated(suite, settings)
    return replace(found, words=f"{suite.left_out}; {found.words}") if suite.left_out else found


def expect_prospect(suite: Suite, settings: Settings) -> Prospect:
    """Return what a run can show, and refuse one that can show nothing.

    What keeps its models from answering is said before that, as it would be the next refusal.
    """
    prospect = what_it_can_show(suite, settings)
    try:
        check_cap(suite, settings)
    except SettingsError as error:
        problem = str(error)
    else:
        problem = "" if prospect.can_show else prospect.words
    if problem:
        trouble = find_trouble(settings, suite)
        raise UsageError(f"{trouble}; and {problem}" if trouble else problem)
    return prospect


def _simulated(suite: Suite, settings: Settings) -> Prospect:
    settled = settle_folds(suite, settings)
    val = settled.tasks(Split.VAL)
    if not val or not (settled.folds or settled.tasks(Split.TRAIN)):
        return _nothing(
            f"{count_noun(len(suite.splits), 'task')} cannot both teach and judge, so nothing could be shown",
            suite,
            settings,
        )
    if settings.gate is GateRule.STRICT:
        words = f"gate `strict` accepts any higher mean on {len(val)} val tasks, and shows of none that it is better"
        return Prospect(can_show=True, least_proven=None, least_here=None, words=words)
    judging = _judging(settled, settings)
    proven, here = smallest_gain_shown(judging, proven=True), smallest_gain_shown(judging, proven=False)
    if here is None:
        cap = f" and max_rollouts of {settings.max_rollouts}" if settings.max_rollouts else ""
        return _nothing(
            f"{count_noun(len(suite.splits), 'task')}{cap}: no gain could be shown, however large (simulated)",
            suite,
            settings,
        )
    return Prospect(can_show=True, least_proven=proven, least_here=here, words=_words(settled, judging, proven, here))


def _nothing(problem: str, suite: Suite, settings: Settings) -> Prospect:
    words = f"{problem}; {_what_would_do(suite, settings)} would do"
    return Prospect(can_show=False, least_proven=None, least_here=None, words=words)


def _judging(suite: Suite, settings: Settings) -> Judging:
    """Return how a draft would be judged: half of what is for learning is taken to be left for repeats."""
    plan, val = plan_rollouts(suite, settings), suite.tasks(Split.VAL)
    left = inf if plan.learning is None else plan.gate + plan.learning // 2
    judged = len(val) if left >= 2 * len(val) else int(left // 2)
    rounds = _GATE_ROUNDS + _HERE_ROUNDS if left == inf else int(left // (2 * max(1, judged)))
    gate = min(1 if settings.gate is GateRule.PAIRED else _GATE_ROUNDS, -(-rounds // 2))
    here = min(_HERE_ROUNDS, rounds - gate)
    parts = tuple(parts_of(task) for task in val[:judged])
    return Judging(parts, gate, here, settings.metric, settings.confidence)


def _words(suite: Suite, judging: Judging, proven: float | None, here: float) -> str:
    scored = _scored(judging)
    gain = f"a gain of {here:.0%} of {scored}"
    if proven is None:
        found = f"{gain} is `proven here` in half of the runs, none is `proven`"
    elif proven <= here:
        found = f"{gain} is `proven` in half of the runs"
    else:
        found = f"{gain} is `proven here` in half of the runs, one of {proven:.0%} is `proven`"
    alike = len(judging.parts) < _COUNTED_ONCE
    last = f"; a target that always answers alike needs {_COUNTED_ONCE} tasks to show anything" if alike else ""
    return f"{_judges(suite, judging)}: {found} (simulated){last}"


def _judges(suite: Suite, judging: Judging) -> str:
    val = len(suite.tasks(Split.VAL))
    share = str(val) if val == len(judging.parts) else f"{len(judging.parts)} of {val}"
    return f"{share} tasks in two folds that judge each other" if suite.folds else f"{share} val tasks"


def _scored(judging: Judging) -> str:
    """Name what a gain is counted in."""
    counted = judging.metric is not Metric.HARD and max(judging.parts) > 1
    return "what is scored" if counted else "tasks"


def _what_would_do(suite: Suite, settings: Settings) -> str:
    """Return how many tasks like these, or which cap, would show a gain."""
    free = settings.model_copy(update={"max_rollouts": None})
    if _shows(suite, free):
        return f"max_rollouts of {rollouts_needed(suite, settings)}"
    planned = (_planned(suite.splits[0][1], count) for count in range(2, _MOST_TASKS + 1))
    enough = next(each for each in planned if _shows(each, free))
    words = f"{len(enough.splits)} tasks without given splits"
    if _shows(enough, settings):
        return words
    return f"{words} and max_rollouts of {rollouts_needed(enough, settings)}"


def _planned(like: Task, count: int) -> Suite:
    """Make a suite of tasks of one kind, planned as one without given splits is."""
    tasks = [replace(like, id=str(number), prompt=f"{like.prompt} {number}") for number in range(count)]
    return plan_splits(tasks).suite("more tasks", tasks)


def rollouts_needed(suite: Suite, settings: Settings) -> int:
    """Return a cap on rollouts under which tasks can show something that can without one."""
    cap = max(settings.max_rollouts or 0, least_rollouts(suite, settings))
    while settings.gate is not GateRule.STRICT and not _shows(suite, settings.model_copy(update={"max_rollouts": cap})):
        cap += max(1, cap // 8)
    return cap


def _shows(suite: Suite, settings: Settings) -> bool:
    settled = settle_folds(suite, settings)
    can_learn = bool(settled.tasks(Split.VAL)) and bool(settled.folds or settled.tasks(Split.TRAIN))
    return can_learn and smallest_gain_shown(_judging(settled, settings), proven=False) is not None


def describe_earlier_runs(ledger: Ledger, skill: str, suite: Suite, settings: Settings) -> str:
    """Return what it costs that runs with another preset were judged on the same tasks; empty when there were none."""
    earlier = [run for run in runs_on(ledger, "training", skill, suite.digest) if _preset(run) != settings.preset]
    if not earlier:
        return ""
    names = ", ".join(sorted({f"`{_preset(run)}`" for run in earlier}))
    tasks = len(suite.tasks(Split.VAL))
    note = (
        f"{len(earlier)} earlier run{'s' * (len(earlier) > 1)} with preset {names} had the same {tasks} val tasks: "
        "their scores can be compared, but the better of two runs has luck in it"
    )
    if not suite.tasks(Split.TEST):
        return f"{note}, and there is no held-out test to tell; new tasks would"
    once, twice = (1.0 - (1.0 - settings.confidence) * 0.5**look for look in (1, 2))
    return (
        f"{note}. A second look at the held-out test needs test_looks=2 and confidence {twice:g} where the first "
        f"needed {once:g}"
    )


def _preset(run: RunRecord) -> str:
    """Read the preset from a run's configuration, whose first part is its settings."""
    return str(json.loads(json.loads(run.config)[0])["preset"])
