"""A run as one HTML page that needs nothing else: no network, no fonts, no scripts unless it is served live.

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
    "ReviewedEntry",
    "RolloutSelection",
    "RunEntry",
    "fill_page",
    "live_policy",
    "render_index",
    "render_page",
    "render_review_page",
    "review_policy",
]

_STYLE, _SCRIPT = "report.css", "live.js"
_REVIEW: Final = "review.js"
"""The script of the page that changes something."""

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


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run in the list of runs; `gained` says the tasks passed before and after, empty before a first version."""

    run: str
    skill: str
    state: str
    versions: int
    gained: str
    step: int
    started_at: str


def render_page(view: RunView, rollouts: RolloutSelection | None = None, *, live: bool = False) -> str:
    """Render a run.

    Args:
        view: What its record tells.
        rollouts: What the rollout viewer shows; None for no viewer.
        live: Whether the page is served and renews itself.
    """
    looks, skills, versions = score_points(view), pareto_points(view), show_versions(view)
    others = unaccepted_edits(view.edits)
    shown = None if rollouts is None else [show_rollout(seen) for seen in rollouts.seen]
    return fill_page(
        "report.html",
        live=live,
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


def render_index(entries: Sequence[RunEntry], waiting: Sequence[tuple[str, int]] = ()) -> str:
    """Render the list of runs, which renews itself.

    Args:
        entries: The runs.
        waiting: Skills with candidates for tasks that wait for a person, and how many.
    """
    return fill_page("index.html", live=True, runs=entries, waiting=waiting)


@dataclass(frozen=True, slots=True)
class ReviewedEntry:
    """A candidate for a task on the review page: its id, its YAML, and why it is worth a look."""

    id: str
    block: str
    why: str


def render_review_page(skill: str, entries: Sequence[ReviewedEntry], stamp: str) -> str:
    """Render the page on which a person approves, edits or drops candidates for tasks.

    Args:
        skill: The skill's name.
        entries: The candidates.
        stamp: Of the file that they stand in; what is asked for on an older state is refused.
    """
    return fill_page("review.html", script=_REVIEW, skill=skill, entries=entries, stamp=stamp)


def review_policy() -> str:
    """Say what a browser may do with the review page."""
    return _script_policy(_REVIEW, frames=True)


def live_policy(*, frames: bool = True) -> str:
    """Say what a browser may do with a page that renews itself.

    Args:
        frames: Whether to forbid other pages to frame it, which only a header can.
    """
    return _script_policy(_SCRIPT, frames=frames)


def _script_policy(script: str, *, frames: bool) -> str:
    ancestors = "; frame-ancestors 'none'" if frames else ""
    own = _hash(_source(_environment(), script))
    return f"{_policy()}; script-src {own}; connect-src 'self'{ancestors}"


def _policy() -> str:
    style = _hash(_source(_environment(), _STYLE))
    return f"default-src 'none'; img-src data:; style-src {style}; base-uri 'none'; form-action 'none'"


def fill_page(template: str, *, live: bool = False, script: str = "", **values: object) -> str:
    """Fill a template of this package; every text in it is escaped, and its policy allows nothing from elsewhere.

    Args:
        template: Its file name.
        live: Whether the page is served and renews itself.
        script: The file of another script that it is served with; empty for none.
        values: What it shows.
    """
    environment, script = _environment(), _SCRIPT if live else script
    policy = _script_policy(script, frames=False) if script else _policy()
    return environment.get_template(template).render(
        policy=Markup(policy),  # noqa: S704 - made of our own words and hashes
        style=Markup(_source(environment, _STYLE)),  # noqa: S704 - our own file
        script=Markup(_source(environment, script)) if script else "",  # noqa: S704 - our own file
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
