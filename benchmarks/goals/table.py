"""The tables of the goals: what was reached, the price of each cell, and how true stated probabilities are.

Owns writing them as Markdown. Does not own the rows (targets) or the runs (samples).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from benchmarks.goals.measures import Counted, claims_of, false_years, in_bin
from benchmarks.goals.samples import OURS, Cell, Samples
from benchmarks.goals.targets import Target
from benchmarks.landscapes.handover import Claim
from benchmarks.landscapes.runs import Run

_YEARS_MUST = 0.07
_PRICES = ((0.10, 0.05), (0.05, 0.10))
"""US dollars of a rollout and of a call."""
_BINS = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.97), (0.97, 1.01))


def format_goals(targets: Iterable[Target], years: Iterable[Cell], found: Samples) -> str:
    """Write a row for each goal."""
    head = ["what", "must", "reached", "goal", "", "others"]
    rows = [_row(target, found) for target in targets]
    rows += [_night_row(cell, found) for cell in years]
    return _markdown(head, rows, left=1)


def _row(target: Target, found: Samples) -> list[str]:
    runs = [run for cell in target.cells for run in found.runs.get((cell, OURS), ())]
    broken = sum(len(found.broken.get((cell, OURS), ())) for cell in target.cells)
    others = _others(target, found)
    sign = "≤" if target.most else "≥"
    must = f"{sign} {target.must:{target.form}}" if target.must is not None else ""
    must += f", ≤ {target.limit:{target.form}}" if target.limit is not None else ""
    if others:
        must = f"{must} and {sign} others".removeprefix(" and ")
    goal = f"{sign} {target.goal:{target.form}}" if target.goal is not None else ""
    told = ", ".join(f"{who}: {value:{target.form}}" for who, value in others.items())
    if not runs:
        return [target.what, must, f"none of {broken} runs finished", goal, "no", told]
    value = target.measure(runs)
    bounds = [bound for bound in (target.must, *others.values()) if bound is not None]
    counted = f" of {len(target.measure.pick(runs))}" if isinstance(target.measure, Counted) else ""
    ends = f"{counted}; {broken} of {broken + len(runs)} did not finish" if broken else counted
    met = not broken and all(target.holds(value, bound) for bound in bounds)
    met = met and (target.limit is None or value <= target.limit)
    best = target.goal is not None and not broken and target.holds(value, target.goal)
    verdict = "goal" if met and best else "yes" if met and bounds else "no" if bounds else ""
    return [target.what, must, f"{value:{target.form}}{ends}", goal, verdict, told]


def _others(target: Target, found: Samples) -> dict[str, float]:
    measure = target.compared
    values = {}
    for who in target.rivals:
        runs = [
            run
            for cell in target.cells
            for run in (*found.runs.get((cell, who), ()), *found.rivals.get((cell, who), ()))
        ]
        if runs:
            values[who] = round(measure(runs), 3)
    return values


def _night_row(cell: Cell, found: Samples) -> list[str]:
    years = found.years.get(cell, [])
    broken = len(found.broken.get((cell, OURS), ()))
    what = f"years of {cell.nights} null nights ({cell.world}) with a false `proven` or `proven here`"
    reached = f"{false_years(years):.0%}" if years else f"none of {broken} years finished"
    met = bool(years) and not broken and false_years(years) <= _YEARS_MUST
    return [what, f"≤ {_YEARS_MUST:.0%}", reached, "", "yes" if met else "no", ""]


def format_cells(found: Samples) -> str:
    """Write what each cell came to and what it took, for everybody who ran on the loop of this project."""
    head = ["world", "rollouts", "who", "score", "best", "gain", "harmed", "handed over", "first version"]
    head += ["to 95%", "made", "calls", "after the last useful edit"]
    head += [f"${rollout:.2f} a rollout, ${call:.2f} a call" for rollout, call in _PRICES] + ["useless lines"]
    rows = [
        [cell.world, str(cell.rollouts), who, *_figures(runs)]
        for (cell, who), runs in sorted(
            found.runs.items(), key=lambda pair: (pair[0][0].world, pair[0][0].rollouts, pair[0][1])
        )
    ]
    return _markdown(head, rows, left=3)


def _figures(runs: Sequence[Run]) -> list[str]:
    handed = [run.handed for run in runs]
    grades = Counter(one.grade or "nothing" for one in handed)
    first = [one.first for one in handed if one.first is not None]
    reached = [run.reach for run in runs if run.reach is not None]
    idle = [(one.rollouts - min(one.rollouts, one.useful[0]), one.calls - one.useful[1]) for one in handed]
    return [
        f"{fmean(one.score for one in handed):.3f}",
        f"{fmean(run.best for run in runs):.3f}",
        f"{fmean(one.gain for one in handed):+.3f}",
        f"{sum(one.harmed for one in handed)}",
        ", ".join(f"{count} {grade}" for grade, count in grades.most_common()),
        f"{median(first):.0f} ({len(first)})" if first else "-",
        f"{median(reached):.0f} ({len(reached)}/{len(runs)})" if reached else f"- (0/{len(runs)})",
        f"{fmean(one.rollouts for one in handed):.0f}",
        f"{fmean(one.calls for one in handed):.0f}",
        f"{fmean(rollouts for rollouts, _ in idle):.0f} / {fmean(calls for _, calls in idle):.1f}",
        *(f"{fmean(one.usd(*prices) for one in handed):.2f}" for prices in _PRICES),
        f"{fmean(one.useless for one in handed):.1f}",
    ]


def format_calibration(found: Samples) -> str:
    """Write how often drafts are better of which a probability was stated; empty where none was."""
    claims = claims_of(run for (_, who), runs in found.runs.items() if who == OURS for run in runs)
    rows = [_bin_row(low, high, in_bin(claims, low, high)) for low, high in _BINS]
    head = ["stated", "drafts", "mean stated", "truly better"]
    return _markdown(head, [row for row in rows if row[1] != "0"], left=1) if any(row[1] != "0" for row in rows) else ""


def _bin_row(low: float, high: float, claims: Sequence[Claim]) -> list[str]:
    if not claims:
        return [f"{low:.0%} to {min(high, 1.0):.0%}", "0", "-", "-"]
    stated, true = fmean(claim.probability for claim in claims), fmean(claim.is_true for claim in claims)
    return [f"{low:.0%} to {min(high, 1.0):.0%}", str(len(claims)), f"{stated:.1%}", f"{true:.1%}"]


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> str:
    aligned = [*["---"] * left, *["---:"] * (len(head) - left)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, aligned, *rows))
