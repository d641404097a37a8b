"""A run as one HTML file; the view that it shows is built in reports."""

from skillopt.reports.html.before_after_page import BeforeAfter, before_after_page
from skillopt.reports.html.page import (
    RolloutSelection,
    render_page,
)
from skillopt.reports.html.viewer import MOST_ROLLOUTS, RolloutEntry, ViewedRollout, choose_rollouts

__all__ = [
    "MOST_ROLLOUTS",
    "BeforeAfter",
    "RolloutEntry",
    "RolloutSelection",
    "ViewedRollout",
    "before_after_page",
    "choose_rollouts",
    "render_page",
]
