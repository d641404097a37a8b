"""A run as one HTML file, and the pages that are served live.

The view that they show is built in reports, and the pages' server is there too.
"""

from skillopt.reports.html.before_after_page import BeforeAfter, before_after_page
from skillopt.reports.html.page import (
    ReviewedEntry,
    RolloutSelection,
    RunEntry,
    live_policy,
    render_index,
    render_page,
    render_review_page,
    review_policy,
)
from skillopt.reports.html.viewer import MOST_ROLLOUTS, RolloutEntry, ViewedRollout, choose_rollouts, write_rollout

__all__ = [
    "MOST_ROLLOUTS",
    "BeforeAfter",
    "ReviewedEntry",
    "RolloutEntry",
    "RolloutSelection",
    "RunEntry",
    "ViewedRollout",
    "before_after_page",
    "choose_rollouts",
    "live_policy",
    "render_index",
    "render_page",
    "render_review_page",
    "review_policy",
    "write_rollout",
]
