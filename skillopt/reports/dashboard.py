"""The dashboard issue: every skill with its state, how its tasks passed night by night, and what the month cost.

Lists and blocks of text, because tables and diagrams are not shown, or not as a whole, by the apps of forges.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from skillopt.reports.escape_markdown import inline_code
from skillopt.safety.plurals import count_noun

__all__ = ["DASHBOARD_TITLE", "DashboardView", "FailureView", "SkillLine", "SkillStatus", "dashboard_text", "sparkline"]

DASHBOARD_TITLE: Final = "Skills: state of nightly training"

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_MOST_LINES: Final = 50
_LONGEST_REASON: Final = 300
_URL: Final = re.compile(r"https?://[\w.:/-]+(?:#[\w-]+)?", re.ASCII)
_NUMBER: Final = re.compile(r"/(\d+)\Z")


class SkillStatus(StrEnum):
    """State of a skill, what people should look at first."""

    FAILED = "failed"
    OPEN = "open"
    UNMEASURABLE = "cannot be measured"
    DUE = "due"
    STALE = "stale"
    DECLINED = "declined"
    IGNORED = "ignored"
    UP_TO_DATE = "up to date"


_HEADINGS: Final = {
    SkillStatus.FAILED: "Failed",
    SkillStatus.OPEN: "A pull request is open",
    SkillStatus.UNMEASURABLE: "Cannot be measured",
    SkillStatus.DUE: "Due",
    SkillStatus.STALE: "Stale: measured with another target, model or suite than is configured now",
    SkillStatus.DECLINED: "Declined: people closed the pull request, and nothing newer is proven",
    SkillStatus.IGNORED: "Ignored by people's word",
    SkillStatus.UP_TO_DATE: "Nothing to do",
}


@dataclass(frozen=True, slots=True)
class SkillLine:
    """A skill on the dashboard."""

    skill: str
    status: SkillStatus
    reason: str = ""
    url: str = ""
    trend: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class FailureView:
    """The last failure of a night: when, of which skill, and why."""

    at: str
    skill: str
    reason: str


@dataclass(frozen=True, slots=True)
class DashboardView:
    """All that the dashboard shows."""

    skills: tuple[SkillLine, ...]
    month: str
    nights: int
    spent_usd: float
    unpriced_nights: int
    cap_usd: float | None
    updated: str
    failure: FailureView | None = None


def dashboard_text(view: DashboardView) -> str:
    """Write the dashboard as GitHub and GitLab show it."""
    groups = ((status, [one for one in view.skills if one.status is status]) for status in SkillStatus)
    parts = [_summary(view), _spent(view)]
    parts += [_group(status, lines) for status, lines in groups if lines]
    if view.failure is not None:
        said = inline_code(_cut(view.failure.reason))
        parts.append(f"**Last failure** ({view.failure.at}, {inline_code(view.failure.skill)}): {said}")
    parts.append(
        "<sub>`skillopt nightly` writes this issue anew after each night; what is changed by hand here is lost. Bars: "
        "share of `val` tasks passed, night by night, from none (▁) to all (█). Close the issue to hear no more of it, "
        "or set `dashboard = false`.</sub>"
    )
    return "\n\n".join(parts)


def sparkline(shares: Sequence[float]) -> str:
    """Draw shares as one row of blocks, from none to all.

    >>> sparkline([0.0, 0.5, 1.0])
    '▁▅█'
    """
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[min(top, max(0, int(share * top + 0.5)))] for share in shares)


def _summary(view: DashboardView) -> str:
    numbers = {status: sum(one.status is status for one in view.skills) for status in SkillStatus}
    said = [
        f"{numbers[status]} {status.value}"
        for status in SkillStatus
        if numbers[status] and status is not SkillStatus.UP_TO_DATE
    ]
    return f"**{count_noun(len(view.skills), 'skill')}: {', '.join(said) or 'nothing to do'}.** Updated {view.updated}."


def _spent(view: DashboardView) -> str:
    cap = f" of ${view.cap_usd:.2f}" if view.cap_usd else ""
    unknown = (
        f"; the cost of {count_noun(view.unpriced_nights, 'night')} is not known in full"
        if view.unpriced_nights
        else ""
    )
    return f"Spent in {view.month}: **${view.spent_usd:.2f}**{cap}, {count_noun(view.nights, 'night')}{unknown}."


def _group(status: SkillStatus, lines: Sequence[SkillLine]) -> str:
    shown = [f"- {_line(one)}" for one in lines[:_MOST_LINES]]
    more = [f"- and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    return "\n".join([f"### {_HEADINGS[status]} ({len(lines)})", "", *shown, *more])


def _line(one: SkillLine) -> str:
    parts = [f"**{inline_code(one.skill)}**", _link(one.url), _trend(one.trend)]
    reason = f": {inline_code(_cut(one.reason))}" if one.reason else ""
    return f"{' '.join(filter(None, parts))}{reason}"


def _trend(shares: Sequence[float]) -> str:
    if not shares:
        return ""
    ends = f"{shares[0]:.0%} → {shares[-1]:.0%}" if len(shares) > 1 else f"{shares[0]:.0%}"
    return f"`{sparkline(shares)}` {ends} of tasks passed"


def _link(url: str) -> str:
    """Link an address that is one; whatever else stands there is shown as it is."""
    if not url:
        return ""
    number = _NUMBER.search(url)
    return f"[{f'#{number[1]}' if number else 'pull request'}]({url})" if _URL.fullmatch(url) else inline_code(url)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…"
