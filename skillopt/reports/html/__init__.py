"""A run as one HTML file, and the pages that are served live.

Owns nothing of its own; it gathers the names that other modules use.
"""

from skillopt.reports.html.page import Entry, Rollouts, live_policy, render_index, render_page
from skillopt.reports.html.viewer import MOST_ROLLOUTS, Listed, Seen, choose, write_rollout

__all__ = [
    "MOST_ROLLOUTS",
    "Entry",
    "Listed",
    "Rollouts",
    "Seen",
    "choose",
    "live_policy",
    "render_index",
    "render_page",
    "write_rollout",
]
