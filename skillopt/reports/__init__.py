"""Reports: one view of a run, and one file per format that shows it.

What is measured is in the ledger, and texts from elsewhere are made harmless by safety.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from skillopt.errors import UsageError
from skillopt.reports.view import RunView

__all__ = ["FORMATS", "format_of", "render_view"]

FORMATS: Final = {
    "markdown": "skillopt.reports.pull_request:render_markdown",
    "pull-request": "skillopt.reports.pull_request:pull_request_body",
    "json": "skillopt.reports.json_view:render_json",
    "junit": "skillopt.reports.junit:render_junit",
    "html": "skillopt.reports.rollout_page:render_page",
}
"""Name → where the function from view to text is."""

_SUFFIXES: Final = {".md": "markdown", ".markdown": "markdown", ".json": "json", ".xml": "junit", ".html": "html"}


def format_of(name: str | None, output: Path | None) -> str:
    """Choose the format: the one that is named, else that of the file's suffix, else Markdown."""
    chosen = name or _SUFFIXES.get(output.suffix.lower() if output else ".md", "")
    if chosen not in FORMATS:
        found = repr(name or str(output))
        raise UsageError(f"expected a report's format ({', '.join(FORMATS)}) or a file with its suffix, found {found}")
    return chosen


def render_view(view: RunView, name: str) -> str:
    """Return a run's report in one of the formats."""
    module, _, function = FORMATS[name].partition(":")
    render = cast("Callable[[RunView], str]", getattr(import_module(module), function))  # each is, by its test
    return render(view)
