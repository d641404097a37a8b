"""The data of a report's charts and tables, and a sentence on each chart for readers who do not see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.reports.edit_views import Funnel
from skillopt.reports.html.charts import ParetoPoint, ScorePoint, pareto_front
from skillopt.reports.view import RunView
from skillopt.rollouts import Usage

__all__ = [
    "FunnelRow",
    "RoleUsage",
    "describe_pareto",
    "describe_scores",
    "funnel_of",
    "pareto_points",
    "score_points",
    "usage_by_role",
]


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """A row of the funnel: its stage, how many edits reached it, their share of all, and what became of the others."""

    name: str
    count: int
    share: float
    lost: str = ""


@dataclass(frozen=True, slots=True)
class RoleUsage:
    """The usage of a role; `share` is of all tokens."""

    role: str
    usage: Usage
    share: float


def score_points(view: RunView) -> tuple[ScorePoint, ...]:
    """List the measurements on `val`; one whose place in the run is not recorded stands between its neighbours."""
    places = _places([point.rollouts for point in view.curve], view.rollouts.asked or view.rollouts.paid)
    looks = []
    for point, place in zip(view.curve, places, strict=True):
        label = "before training" if point.gate is None else f"gate {point.gate}, {point.outcome}"
        found = f"{point.passed} tasks passed" if point.passed else f"{point.score:.3f}"
        looks.append(ScorePoint(place, point.score, point.outcome, f"{label}: {found}"))
    return tuple(looks)


def _places(known: Sequence[int | None], end: int) -> list[int]:
    """Fill in what is not known, evenly between what is.

    >>> _places([0, None, None, 30, None], 50)
    [0, 10, 20, 30, 40]
    """
    places: list[int] = []
    for at, place in enumerate(known):
        last = places[-1] if places else 0
        if place is None:
            later = next(((ahead, found) for ahead, found in enumerate(known[at:]) if found is not None), None)
            ahead, found = later or (len(known) - at, max(end, last))
            places.append(last + (found - last) // (ahead + 1))
        else:
            places.append(place)
    return places


def describe_scores(looks: Sequence[ScorePoint]) -> str:
    """Describe the chart of scores in a sentence."""
    counts = {
        kind: sum(look.kind == kind for look in looks) for kind in ("accept", "reject", "inconclusive", "invalid")
    }
    outcomes = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    best = [look for look in looks if look.kind in ("start", "accept")]
    moved = f"; the share of tasks passed went from {best[0].score:.0%} to {best[-1].score:.0%}" if best else ""
    return f"{len(looks)} measurements on the validation tasks{f': {outcomes}' if outcomes else ''}{moved}."


def pareto_points(view: RunView) -> tuple[ParetoPoint, ...]:
    """List the versions whose score on `val` is known, with their size."""
    return tuple(
        ParetoPoint(
            f"v{version.number}" if version.number else "start",
            version.tokens,
            version.score,
            "accept" if version.number else "start",
            version.usd,
            version.turns,
            version.front,
            version.expected,
        )
        for version in view.versions
        if version.score is not None
    )


def describe_pareto(skills: Sequence[ParetoPoint]) -> str:
    """Describe the Pareto chart in a sentence."""
    front = ", ".join(f"{one.name} ({one.score:.3f}, {one.tokens:,} tokens)" for one in pareto_front(skills))
    return f"{len(skills)} skills; none is both shorter and better than {front}."


def funnel_of(funnel: Funnel) -> tuple[FunnelRow, ...]:
    """List how many edits came how far."""
    lost = {
        "proposed": f"{funnel.refused:,} refused unrun" if funnel.refused else "",
        "tested": "",
        "kept": "",
        "gated": "",
        "accepted": "",
    }
    if funnel.tested > funnel.kept:
        lost["tested"] = f"{funnel.tested - funnel.kept:,} moved nothing or were not needed"
    if funnel.kept > funnel.gated:
        lost["kept"] = f"{funnel.kept - funnel.gated:,} met no gate"
    if funnel.gated > funnel.accepted:
        lost["gated"] = f"{funnel.gated - funnel.accepted:,} not accepted"
    counts = {
        "proposed": funnel.proposed,
        "tested": funnel.tested,
        "kept": funnel.kept,
        "gated": funnel.gated,
        "accepted": funnel.accepted,
    }
    names = {
        "proposed": "proposed",
        "tested": "in a patch test",
        "kept": "joined the draft",
        "gated": "met the gate",
        "accepted": "accepted",
    }
    most = max(*counts.values(), 1)
    shown = [key for key in counts if key != "tested" or funnel.tested]
    return tuple(FunnelRow(names[key], counts[key], counts[key] / most, lost[key]) for key in shown)


def usage_by_role(spend: Mapping[str, Usage]) -> tuple[RoleUsage, ...]:
    """List what each role consumed, the greatest first."""
    tokens = {role: usage.input_tokens + usage.output_tokens for role, usage in spend.items()}
    total = max(sum(tokens.values()), 1)
    order = sorted(spend, key=lambda role: (-tokens[role], role))
    return tuple(RoleUsage(role, spend[role], tokens[role] / total) for role in order)
