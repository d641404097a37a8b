"""A run as one HTML page that needs nothing else: no network, no fonts, no scripts.

The page's policy says what a browser may do with it. Every text that a template shows is escaped first, whoever wrote
it.
"""

from base64 import b64encode
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from skillopt.gate.expectation import expectation
from skillopt.gate.grade_words import grade_words
from skillopt.gate.headline import compared_words, metric_label, passed_cells
from skillopt.reports.gate_words import is_change
from skillopt.reports.html.charts import draw_marks, draw_pareto, draw_scores
from skillopt.reports.html.escape_html import escape_html, mark_hidden
from skillopt.reports.html.figures import (
    describe_pareto,
    describe_scores,
    funnel_of,
    pareto_points,
    score_points,
    usage_by_role,
)
from skillopt.reports.html.headline import commands_of, facts_of, figures_of, headline_of
from skillopt.reports.html.heat import make_heat_map
from skillopt.reports.html.svg import percent, signed
from skillopt.reports.html.versions import MOST_VERSIONS, show_edit, show_versions, unaccepted_edits
from skillopt.reports.html.viewer import MOST_ROLLOUTS, ViewedRollout, show_rollout
from skillopt.reports.view import RunView

__all__ = [
    "RolloutSelection",
    "fill_page",
    "render_page",
]

_STYLE: Final = "report.css"

_MOST_GATES: Final = 100
_MOST_OTHERS: Final = 150
_SECTIONS: Final = (
    ("scores", "Score over rollouts"),
    ("tasks", "Tasks by version"),
    ("versions", "Versions"),
    ("edits", "Edits"),
    ("costs", "Costs"),
    ("rollouts", "Rollouts"),
    ("configuration", "Configuration"),
)
_OF_A_CHANGE: Final = {"scores": "The gate", "versions": "The change", "edits": ""}
"""What sections are called in the report on a change by people; an empty name leaves one out."""


@dataclass(frozen=True, slots=True)
class RolloutSelection:
    """The rollouts that a page shows: those chosen, of how many, at most how many, and whether of all splits."""

    seen: tuple[ViewedRollout, ...]
    listed: int
    all_splits: bool = False
    most: int = MOST_ROLLOUTS


def render_page(view: RunView, rollouts: RolloutSelection | None = None) -> str:
    """Render a run."""
    looks, skills, versions = score_points(view), pareto_points(view), show_versions(view)
    others = unaccepted_edits(view.edits)
    shown = None if rollouts is None else [show_rollout(seen) for seen in rollouts.seen]
    return fill_page(
        "report.html",
        view=view,
        headline=headline_of(view),
        figures=figures_of(view),
        change=is_change(view),
        sections=_sections(change=is_change(view), viewer=shown is not None),
        looks=looks,
        guessed=any(point.rollouts is None for point in view.curve),
        kinds={look.kind for look in looks},
        score_drawing=draw_scores(looks, describe_scores(looks)) if looks else "",
        gates=view.gates[-_MOST_GATES:],
        gates_left_out=max(0, len(view.gates) - _MOST_GATES),
        heat=make_heat_map(view.heat, view.versions),
        versions=versions,
        versions_left_out=max(0, len(view.versions) - 1 - MOST_VERSIONS),
        funnel=funnel_of(view.funnel),
        others=[show_edit(edit) for edit in others[:_MOST_OTHERS]],
        others_count=len(others),
        reasons=_reasons(view),
        skills=skills,
        pareto_drawing=draw_pareto(skills, describe_pareto(skills)) if skills else "",
        spent=usage_by_role(view.spend),
        shown=shown,
        listed=rollouts.listed if rollouts else 0,
        cap=rollouts.most if rollouts else 0,
        all_splits=rollouts is not None and rollouts.all_splits,
        any_gone=any(one.gone for one in shown or ()),
        facts=facts_of(view),
        commands=commands_of(view),
    )


def _policy() -> str:
    style = _hash(_source(_environment(), _STYLE))
    return f"default-src 'none'; img-src data:; style-src {style}; base-uri 'none'; form-action 'none'"


def fill_page(template: str, **values: object) -> str:
    """Fill a template of this package; every text in it is escaped, and its policy allows nothing from elsewhere."""
    environment = _environment()
    return environment.get_template(template).render(
        policy=Markup(_policy()),  # noqa: S704 - made of our own words and hashes
        style=Markup(_source(environment, _STYLE)),  # noqa: S704 - our own file
        marks=draw_marks(),
        **values,
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("skillopt.reports.html"),
        autoescape=True,
        finalize=escape_html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"marked": mark_hidden, "percent": percent, "signed": signed}
    environment.globals["expectation"] = expectation
    environment.globals["compared_words"] = compared_words
    environment.globals["metric_label"] = metric_label
    environment.globals["passed_cells"] = passed_cells
    environment.globals["grade_words"] = grade_words
    return environment


def _source(environment: Environment, name: str) -> str:
    loader = environment.loader
    assert loader is not None  # noqa: S101 - it was given just above
    return loader.get_source(environment, name)[0]


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _sections(*, change: bool, viewer: bool) -> list[tuple[str, str]]:
    named = [(anchor, _OF_A_CHANGE.get(anchor, name) if change else name) for anchor, name in _SECTIONS]
    return [(anchor, name) for anchor, name in named if name and (viewer or anchor != "rollouts")]


def _reasons(view: RunView) -> list[tuple[str, str]]:
    """Group the steps that failed by why, most frequent first."""
    steps: dict[str, list[int]] = defaultdict(list)
    for step in view.steps:
        if step.failure:
            steps[step.failure].append(step.number)
    ranked = sorted(steps.items(), key=lambda pair: -len(pair[1]))
    return [(reason, _listed(numbers)) for reason, numbers in ranked[:50]]


def _listed(numbers: Sequence[int]) -> str:
    """List numbers, neighbours as a range.

    >>> _listed([1, 2, 3, 7, 9, 10])
    '1 to 3, 7, 9 to 10'
    """
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{low}" if low == high else f"{low} to {high}" for low, high in ranges)
