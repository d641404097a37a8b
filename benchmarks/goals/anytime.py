"""The text in hand at each cap: true score by world and cap, ours beside small loops, the published one and GEPA."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from benchmarks.goals.measures import gain, harmed, proven, score
from benchmarks.goals.samples import OURS, PUBLISHED, Cell, Samples
from benchmarks.peers.contestants import GEPA
from benchmarks.peers.small_loops import SMALL_LOOPS

CAPS: Final[Mapping[str, tuple[int, ...]]] = {
    "real-12": (18, 36, 72, 120),
    "real-20": (30, 60, 120, 200),
    "real-40": (60, 120, 240, 400),
    "clash-20": (100, 250),
    "order-20": (120, 300),
    "wordings-40": (120, 250),
    "flips-30": (300,),
    "two-rules": (120,),
    "three-rules": (120,),
    "four-rules": (120,),
    "cell": (300,),
    "rare-broken-30": (300,),
    "contexts": (300,),
    "contexts-20": (300,),
    "distractors": (120, 300),
    "harmful": (120, 300),
    "weak": (120, 300),
    "inert-12": (160,),
    "verbose-20": (120, 300),
    "tempting": (300,),
    "broad": (300,),
    "memo": (300,),
    "crashy-20": (300,),
}
"""Caps on rollouts by world."""

WHO: Final = (OURS, *SMALL_LOOPS, PUBLISHED[0], *GEPA)


def anytime_cells(worlds: Iterable[str]) -> list[Cell]:
    """List the cells of some worlds."""
    return [Cell(world, cap) for world in worlds for cap in CAPS[world]]


def format_anytime(cells: Sequence[Cell], found: Samples) -> str:
    """Write a row for each cell: our score, what it took and how it ended, then the scores of the others."""
    rows = [["world", "cap", "start", "ours", "gain", "rollouts", "calls", "nothing", "proven", "harmed", "useless"]]
    others = [who for who in WHO[1:] if any((cell, who) in found.runs or (cell, who) in found.rivals for cell in cells)]
    rows[0] += others
    rows.append(["---", *["---:"] * (len(rows[0]) - 1)])
    for cell in cells:
        runs = found.runs.get((cell, OURS), [])
        row = [cell.world, str(cell.rollouts), *([""] * 9)]
        if runs:
            handed = [run.handed for run in runs]
            row[2:] = [
                f"{runs[0].curve[0][1]:.3f}",
                f"{score(runs):.3f}",
                f"{gain(runs):+.3f}",
                f"{fmean(one.rollouts for one in handed):.0f}",
                f"{fmean(one.calls for one in handed):.1f}",
                f"{sum(one.kind == 'nothing' for one in handed)}",
                f"{proven(runs):.0%}",
                f"{harmed(runs):.1%}",
                f"{fmean(one.useless for one in handed):.1f}",
            ]
        for who in others:
            runs_of = [*found.runs.get((cell, who), ()), *found.rivals.get((cell, who), ())]
            spent = fmean(run.asked for run in runs_of) if runs_of else 0
            row.append(f"{score(runs_of):.3f} @{spent:.0f}" if runs_of else "")
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
