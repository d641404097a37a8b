"""What learning must reach, and what it should: one row for each figure and cell.

Owns the rows. Does not own how a figure is measured (measures).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks.goals.measures import (
    Counted,
    calls,
    claims_of,
    error_of,
    false_high,
    first_version,
    gain,
    harmed,
    harmful_offers,
    idle_calls,
    in_bin,
    intervals,
    lines_a_rule,
    overstated,
    proven,
    reach,
    reached,
    rounds,
    score,
    share,
    unmeasured,
    worse,
)
from benchmarks.goals.samples import OURS, PUBLISHED, Cell
from benchmarks.landscapes.handover import Claim
from benchmarks.landscapes.runs import Run
from benchmarks.peers.arena import Figures
from benchmarks.peers.contestants import GEPA, NO_GATE


@dataclass(frozen=True, slots=True)
class Target:
    """A figure, and what it must come to."""

    group: str
    what: str
    cells: tuple[Cell, ...]
    measure: Callable[[Sequence[Run]], float]
    must: float | None = None
    goal: float | None = None
    most: bool = False
    limit: float | None = None
    rivals: tuple[str, ...] = ()
    form: str = ".3f"

    @property
    def wanted(self) -> Iterator[tuple[Cell, str]]:
        """Yield who is to run where."""
        yield from ((cell, who) for cell in self.cells for who in (OURS, *self.rivals))

    @property
    def compared(self) -> Callable[[Sequence[Run | Figures]], float]:
        """The measure for rivals, of whom no more is known than what they hand over."""
        return gain if self.measure is gain else score

    def holds(self, found: float, bound: float) -> bool:
        """Return whether a figure, as it is written, comes to a bound."""
        number = float(format(found, self.form).rstrip("%")) / (100 if self.form.endswith("%") else 1)
        return number <= bound if self.most else number >= bound


_ALL: Final = (*PUBLISHED, *GEPA)
_FEW: Final = {8: 120, 12: 120, 20: 120, 30: 250, 40: 250}
_REAL: Final = {count: Cell(f"real-{count}", cap) for count, cap in _FEW.items()}
_GAINS: Final = {8: (0.107, 0.145), 12: (0.115, 0.153), 20: (0.16, 0.196), 30: (0.236, 0.271), 40: (0.291, 0.326)}
_PROVEN: Final = {12: (0.18, 0.3), 20: (0.28, 0.5), 30: (0.5, 0.9), 40: (0.5, 0.9)}
_RULES: Final = {
    ("two-rules", 120): (0.80, 0.89),
    ("three-rules", 120): (0.80, 0.90),
    ("four-rules", 120): (0.70, 0.84),
    ("two-rules", 250): (0.90, 0.93),
    ("three-rules", 250): (0.90, 0.94),
    ("four-rules", 250): (0.85, 0.90),
}
_REACH: Final = {"distractors": (296, 240), "mostly-distractors": (530, 380), "harmful": (366, 260)}
_SCORES: Final = {"strong": 0.950, "weak": 0.685, "hostile": 0.950}
_CALLS: Final = {"strong": (7, 5), "weak": (20, 15), "hostile": (45, 20), "null": (23, 10)}
_TEXTS: Final = {
    ("clash-20", 250): (0.85, 0.90),
    ("memo", 300): (0.70, 0.85),
    ("broad", 300): (0.85, 0.90),
    ("tempting", 300): (0.60, 0.75),
    ("general", 300): (0.80, 0.85),
    ("wordings-40", 250): (0.72, 0.74),
    ("cell", 300): (0.81, 0.88),
}
_NAMES: Final = {"two-rules": "2 rules a task", "three-rules": "3 rules a task", "four-rules": "4 rules a task"}


def _few() -> Iterator[Target]:
    for count, cell in _REAL.items():
        yield Target("few", f"realistic mix, {count} tasks, {cell.rollouts} rollouts: true gain", (cell,), gain,
                     *_GAINS[count], rivals=_ALL, form="+.3f")  # fmt: skip
    yield Target("few", "of these, runs that are harmed", tuple(_REAL.values()), harmed, 0.02, most=True, form=".1%")
    for count, bounds in _PROVEN.items():
        yield Target(
            "few", f"{count} tasks: proven, here or for new tasks", (_REAL[count],), proven, *bounds, form=".0%"
        )


def _rules() -> Iterator[Target]:
    for (world, cap), bounds in _RULES.items():
        for way, told in (("", ""), ("-first", ", only the first failure shows")):
            yield Target(
                "rules", f"{_NAMES[world]}{told}: true score at {cap}", (Cell(world + way, cap),), score, *bounds
            )
    cells = tuple(Cell(world + way, 250) for world in _NAMES for way in ("", "-first"))
    yield Target(
        "rules", "of these at 250, calls after the last useful edit", cells, idle_calls, 0.15, most=True, form=".0%"
    )
    yield Target("pairs", "all rules in pairs, 1,000: true score", (Cell("all-pairs", 1000),), score, 0.75, 0.80,
                 rivals=GEPA)  # fmt: skip


def _proposers() -> Iterator[Target]:
    for world, told in (("able", "10% wrong"), ("packed", "15% wrong, packs four rules")):
        cell = (Cell(world, 250),)
        yield Target("proposers", f"proposer {told}, 2 rules a task, 250: true score", cell, score, rivals=PUBLISHED)
        yield Target(
            "proposers", f"proposer {told}: median rollouts to 95%", cell, reach, None, 80, most=True, form=".0f"
        )
    for world in ("fading", "diluted", "criteria"):
        yield Target("proposers", f"{world}, 600: true score", (Cell(world, 600),), score, rivals=(*_ALL, NO_GATE))
    for world, goal in (("flips-20", None), ("flips-30", 0.55)):
        yield Target("flips", f"{world}, 600: true score", (Cell(world, 600),), score, None, goal, rivals=GEPA)


def _reach() -> Iterator[Target]:
    for world, bounds in _REACH.items():
        cell = (Cell(world, 1500),)
        yield Target("reach", f"{world}: median rollouts to 95%", cell, reach, *bounds, most=True, form=".0f")
        yield Target("reach", f"{world}: runs that come to 95%", cell, reached, 0.975, 1.0, form=".1%")
    cell = (Cell("distractors", 1500),)
    yield Target("reach", "distractors: median rollouts to the first version", cell, first_version, 150, 100, most=True,
                 form=".0f")  # fmt: skip
    cells = tuple(Cell(world, 1500) for world in _REACH)
    yield Target("reach", "of these, calls after the last useful edit", cells, idle_calls, 0.15, most=True, form=".0%")
    yield Target("reach", "most calls of a step that wait for one another", cells, rounds, 2, 1, most=True, form=".0f")


def _calls() -> Iterator[Target]:
    for world, least in _SCORES.items():
        yield Target("calls", f"{world}, 500: true score", (Cell(world, 500),), score, least)
    for world, bounds in _CALLS.items():
        yield Target("calls", f"{world}, 500: calls", (Cell(world, 500),), calls, *bounds, most=True, form=".0f")
    yield Target("failures", "a quarter of all prompts and (document, task) pairs fail, 1,000: true score",
                 (Cell("lasting-failures", 1000),), score, 0.90)  # fmt: skip


def _texts() -> Iterator[Target]:
    clash = tuple(Cell(f"clash-{count}", 250) for count in (12, 20, 40))
    least = partial(Target, "texts", most=True, form=".2f")
    yield least("clash, 12 to 40 tasks: stated gain less the true one", clash, overstated, 0.05, 0.02)
    for (world, cap), bounds in _TEXTS.items():
        yield Target("texts", f"{world}, {cap}: true score", (Cell(world, cap),), score, *bounds, rivals=_ALL)
    yield least("wordings-40: lines for each rule", (Cell("wordings-40", 250),), lines_a_rule, 1.2, 1.0)


def _claims() -> Iterator[Target]:
    null, harm = tuple(Cell(world, 150) for world in ("null-12", "null-20", "null-split")), (Cell("null-harm", 150),)
    few = (*_REAL.values(), Cell("wordings-40", 250), Cell("mixed-12", 300), Cell("flaky-24", 300))
    traps = (Cell("memo", 300), Cell("broad", 300), Cell("tempting", 300))
    wide = (Cell("distractors", 1500), Cell("strong", 500), Cell("weak", 500), Cell("flips-30", 600), *traps)
    every, rate = (*few, *null, *harm, *traps), partial(Target, "claims", most=True, form=".1%")
    covered = Counted(intervals, share(lambda claim: claim.covered))
    for told, cells in (("8 to 40 tasks without splits", few), ("stated splits", wide)):
        what = f"{told}: 90% intervals that hold the truth"
        yield Target("claims", what, cells, covered, 0.85, 0.88, limit=0.95, form=".0%")
    better = Counted(worse, share(lambda claim: claim.is_true))
    yield rate("realistic mix, 8 to 20 tasks: drafts called worse that are better", few[:3], better, 0.1, 0.05)
    yield rate("null-harm: drafts called worse that are better", harm, better, 0.1, 0.05)
    yield rate("null-harm: runs that offer a harmful draft", harm, harmful_offers, 0.05, 0.02)
    yield rate("null: runs with a draft called better with 80% or more", null, false_high, 0.05, 0.02)
    drafts = Counted(_stated(0.0, 1.01), share(unmeasured))
    yield rate("drafts with a percentage that ran on no task of the gate", every, drafts, 0.0)
    for low, high in ((0.0, 0.5), (0.5, 0.8), (0.8, 1.01)):
        what = f"drafts called better with {low:.0%} to {min(high, 1.0):.0%}: error of the probability"
        yield rate(what, every, Counted(_stated(low, high), error_of), 0.08, 0.05)


def _stated(low: float, high: float) -> Callable[[Sequence[Run]], list[Claim]]:
    return lambda runs: in_bin(claims_of(runs), low, high)


TARGETS: Final = (*_few(), *_rules(), *_proposers(), *_reach(), *_calls(), *_texts(), *_claims())
"""Every row, in the order of the table."""

YEARS: Final = (Cell("null", 500, nights=12), Cell("null-20", 120, nights=12))
"""Years of null nights, by world; at most 7% of them may call anything proven."""

GROUPS: Final = (*dict.fromkeys(target.group for target in TARGETS), "nights")
"""What rows can be asked for by."""
