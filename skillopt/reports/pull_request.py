"""A run as Markdown: its whole report, and title and text of its pull request, shortened until it fits."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.gate.headline import compared_words
from skillopt.reports.blocks import Heading, Paragraph, ReportBlock, cited, paragraphs
from skillopt.reports.escape_markdown import comment_marker
from skillopt.reports.markdown import print_markdown
from skillopt.reports.run_edits import ReportLimits, taken_edits
from skillopt.reports.run_report import (
    change_outcome,
    guarantee,
    headline,
    is_change,
    noise_line,
    run_details,
    run_head,
    run_report,
)
from skillopt.reports.view import RunView

__all__ = ["LIMIT", "length", "pull_request_body", "pull_request_title", "render_markdown"]

LIMIT: Final = 65_536
"""Most characters of a pull request's text.

GitHub counts code points there (measured in dead-claudia/github-limits#13; a comment may have four times as many
bytes), JavaScript clients count UTF-16 units. We count the latter, which are never fewer.
"""

_LIMITS: Final = (
    ReportLimits(refused=200),
    ReportLimits(refused=40),
    ReportLimits(refused=40, text=300),
    ReportLimits(refused=0, text=300),
    ReportLimits(refused=0, text=120, names=50, rows=50),
    ReportLimits(refused=0, text=60, names=10, rows=20),
    ReportLimits(refused=0, text=30, names=3, rows=10),
)
"""What is given up first stands first."""


def render_markdown(view: RunView) -> str:
    """Return the whole run as Markdown."""
    title = f"{cited(view.skill)}: {cited(view.kind)} run {cited(view.run)}"
    return print_markdown([Heading(title, 1), *run_report(view, ReportLimits(text=5000))])


def pull_request_title(view: RunView) -> str:
    """Return the title: the skill and what was gained, nothing that a model wrote."""
    name = re.sub(r"[^a-z0-9-]", "", view.skill)
    if is_change(view):
        return f"{name}: change {change_outcome(view)}"
    untested = "" if view.test is not None else ", not tested"
    if view.headline is not None:
        return f"{name}: {view.headline.passed}{untested}"
    taken = [gate.verdict for gate in view.gates if gate.version is not None]
    if taken:
        return f"{name}: val {compared_words(taken[-1], metric=view.metric)}{untested}"
    return f"{name}: no version was accepted"


def pull_request_body(view: RunView, limit: int = LIMIT) -> str:
    """Write the text of a pull request; where it is too long it is shortened part by part, and says so."""
    for blocks in _shorter_and_shorter(view):
        text = f"{comment_marker(view.skill)}\n\n{print_markdown(blocks)}"
        if length(text) <= limit:
            return text
    raise ValueError(f"expected a limit that leaves space for the verdict, found {limit}")


def length(text: str) -> int:
    """Count a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _shorter_and_shorter(view: RunView) -> Iterator[list[ReportBlock]]:
    started = f", {view.started[:10]}" if view.started else ""
    title = Heading(f"{cited(view.skill)}: {cited(view.kind)} run {cited(view.run)}{started}")
    for limits in (ReportLimits(), *_LIMITS):
        cuts = [
            f"texts after {limits.text} characters" if limits.text < ReportLimits().text else "",
            f"lists of tasks after {limits.names}" if limits.names < ReportLimits().names else "",
            f"edits that were not taken {f'after {limits.refused}' if limits.refused else 'altogether'}",
        ]
        cut = f"Shortened for length, cut {', '.join(filter(None, cuts))}; `skillopt report {view.run}` has all of it."
        said = paragraphs(cut if limits != ReportLimits() else "")
        edits = [] if is_change(view) else [Heading("Edits", 3), *taken_edits(view, limits)]
        yield [title, *run_head(view), *said, *edits, *run_details(view, limits)]
    rest = Paragraph(f"Everything else was left out for length; `skillopt report {view.run}` has all of it.")
    short = paragraphs(headline(view), view.caution)
    yield [title, *short, *paragraphs(noise_line(view), guarantee(view)), rest]
    yield [*short, rest]
