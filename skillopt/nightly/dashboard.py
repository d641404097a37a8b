"""The dashboard issue: every skill with its state, how its tasks passed night by night, and what the month cost.

What it must remember from night to night stands at the end of its body, in an HTML comment: a night on a fresh machine
has nothing else. Whoever may edit issues may edit it, so it is read as untrusted text; what is not as it was written
counts as nothing. Lists and blocks of text, because apps of forges do not show tables and diagrams as a whole.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from skillopt.nightly.night import SkillNight, Training
from skillopt.protocols import Forge
from skillopt.reports.escape_markdown import inline_code
from skillopt.safety.plurals import count_noun

__all__ = [
    "DASHBOARD_TOPIC",
    "DashboardMemory",
    "NightFailure",
    "NightRecord",
    "SkillFacts",
    "SkillStanding",
    "SkillStatus",
    "build_dashboard",
    "read_memory",
    "remember_night",
    "spent_in_month",
    "standing_of",
    "update_dashboard",
    "why_no_money",
]

DASHBOARD_TOPIC: Final = "dashboard"

_TITLE: Final = "Skills: state of nightly training"
_COMMENT: Final = re.compile(r"<!-- skillopt memory: (?P<json>\{[^\n]*\}) -->\s*\Z")
_LONGEST: Final = 50_000
_LONGEST_BODY: Final = 65_000
_LONGEST_NAME: Final = 200
_LONGEST_REASON: Final = 500
_LONGEST_SHOWN: Final = 300
_MOST_LINES: Final = 50
_MOST_NIGHTS: Final = 400
_MOST_SKILLS: Final = 1000
_MOST_POINTS: Final = 20
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_URL: Final = re.compile(r"https?://[\w.:/-]+(?:#[\w-]+)?", re.ASCII)
_NUMBER: Final = re.compile(r"/(\d+)\Z")

_Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Words = Annotated[str, Field(max_length=_LONGEST_REASON)]


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


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NightFailure(_Strict):
    """What failed in a night: of which skill, when, and why."""

    skill: _Name
    at: AwareDatetime
    reason: _Words


class _PaidNight(_Strict):
    """A night of this month."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
    at: AwareDatetime
    usd: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    priced: bool = True


class SkillStanding(_Strict):
    """State of a skill after a night."""

    skill: _Name
    status: SkillStatus
    reason: _Words = ""
    url: _Words = ""


class DashboardMemory(_Strict):
    """What lasts from night to night."""

    version: Literal[1] = 1
    nights: Annotated[tuple[_PaidNight, ...], Field(max_length=_MOST_NIGHTS)] = ()
    trends: Annotated[
        dict[_Name, Annotated[tuple[_Share, ...], Field(max_length=_MOST_POINTS)]], Field(max_length=_MOST_SKILLS)
    ] = {}
    failure: NightFailure | None = None
    standings: Annotated[tuple[SkillStanding, ...], Field(max_length=_MOST_SKILLS)] = ()


class SkillFacts(_Strict):
    """What training found out about a skill, for the dashboard."""

    passed: _Share | None = None
    due: _Words = ""
    stale: bool = False
    declined: _Words = ""


class NightRecord(_PaidNight):
    """What a night adds to the memory."""

    skills: dict[_Name, SkillFacts] = {}
    others: tuple[str, ...] = ()


def read_memory(body: str) -> DashboardMemory:
    """Read the memory at the end of the body of a dashboard issue; an empty one where there is none, or another."""
    found = _COMMENT.search(body[-_LONGEST_BODY:])
    if found is None:
        return DashboardMemory()
    try:
        return DashboardMemory.model_validate_json(found["json"])
    except ValidationError:
        return DashboardMemory()


def remember_night(
    memory: DashboardMemory, night: NightRecord, failures: Iterable[NightFailure] = ()
) -> DashboardMemory:
    """Add a night to the memory; one that is there already changes nothing but the failure."""
    failure = next(iter(failures), memory.failure)
    if any(one.id == night.id for one in memory.nights):
        return memory.model_copy(update={"failure": failure})
    paid = _PaidNight(id=night.id, at=night.at, usd=night.usd, priced=night.priced)
    # The newest month counts: an older night that is offered late must not make its money free again.
    known = (*memory.nights, paid)
    month = max(_month(one.at) for one in known)
    nights = [one for one in known if _month(one.at) == month][-_MOST_NIGHTS:]
    trends = dict(memory.trends)
    for skill, facts in night.skills.items():
        if facts.passed is not None:
            trends[skill] = (*trends.pop(skill, ()), round(facts.passed, 3))[-_MOST_POINTS:]
    kept = dict(list(trends.items())[-_MOST_SKILLS:])
    return memory.model_copy(update={"nights": tuple(nights), "trends": kept, "failure": failure})


def spent_in_month(memory: DashboardMemory, now: datetime) -> float:
    """Add up what the nights of this month (in UTC) cost in US dollars."""
    return sum(one.usd for one in memory.nights if _month(one.at) == _month(now))


def why_no_money(memory: DashboardMemory, cap_usd: float | None, now: datetime) -> str:
    """Return why this month pays for no more training; empty when it does."""
    spent = spent_in_month(memory, now)
    if cap_usd is None or spent < cap_usd:
        return ""
    return f"the month's ${cap_usd:.2f} (monthly_usd) are used up: ${spent:.2f} spent in {_month(now)}"


def build_dashboard(memory: DashboardMemory, cap_usd: float | None, now: datetime) -> str:
    """Write the body of a dashboard issue: what people read, and then the memory."""
    numbers = {status: sum(one.status is status for one in memory.standings) for status in SkillStatus}
    open_ones = [one for one in SkillStatus if numbers[one] and one is not SkillStatus.UP_TO_DATE]
    said = ", ".join(f"{numbers[one]} {one.value}" for one in open_ones) or "nothing to do"
    updated = f"Updated {now.astimezone(UTC):%Y-%m-%d %H:%M} UTC."
    parts = [f"**{count_noun(len(memory.standings), 'skill')}: {said}.** {updated}", _spent(memory, cap_usd, now)]
    for status, heading in _HEADINGS.items():
        if count := numbers[status]:
            lines = [_line(one, memory) for one in memory.standings if one.status is status][:_MOST_LINES]
            more = [f"- and {count - _MOST_LINES} more"] if count > _MOST_LINES else []
            parts.append("\n".join([f"### {heading} ({count})", "", *lines, *more]))
    if (failure := memory.failure) is not None:
        day, skill = f"{failure.at.astimezone(UTC):%Y-%m-%d}", inline_code(failure.skill)
        parts.append(f"**Last failure** ({day}, {skill}): {_code(failure.reason)}")
    parts.append(
        "<sub>`skillopt nightly` writes this issue anew after each night; what is changed by hand here is lost. Bars: "
        "share of `val` tasks passed, night by night, from none (▁) to all (█). Close the issue to hear no more of it, "
        "or set `dashboard = false`.</sub>"
    )
    text = "\n\n".join(parts)
    return f"{text}\n\n{_written(memory, min(_LONGEST, _LONGEST_BODY - len(text.encode())))}\n"


def _spent(memory: DashboardMemory, cap_usd: float | None, now: datetime) -> str:
    nights = [one for one in memory.nights if _month(one.at) == _month(now)]
    cap = f" of ${cap_usd:.2f}" if cap_usd else ""
    unpriced = sum(not one.priced for one in nights)
    unknown = f"; the cost of {count_noun(unpriced, 'night')} is not known in full" if unpriced else ""
    spent = f"**${spent_in_month(memory, now):.2f}**{cap}"
    return f"Spent in {_month(now)}: {spent}, {count_noun(len(nights), 'night')}{unknown}."


def _line(one: SkillStanding, memory: DashboardMemory) -> str:
    """Show a skill; an address is a link only where it is one."""
    link = inline_code(one.url) if one.url else ""
    if _URL.fullmatch(one.url):
        number = _NUMBER.search(one.url)
        link = f"[{f'#{number[1]}' if number else 'pull request'}]({one.url})"
    trend = ""
    if shares := memory.trends.get(one.skill, ()):
        ends = " → ".join(f"{share:.0%}" for share in (shares[0], shares[-1])[: len(shares)])
        trend = f"`{_sparkline(shares)}` {ends} of tasks passed"
    reason = f": {_code(one.reason)}" if one.reason else ""
    return f"- {' '.join(filter(None, [f'**{inline_code(one.skill)}**', link, trend]))}{reason}"


def _sparkline(shares: Sequence[float]) -> str:
    """Draw shares as one row of blocks, from none to all.

    >>> _sparkline([0.0, 0.5, 1.0])
    '▁▅█'
    """
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[min(top, max(0, int(share * top + 0.5)))] for share in shares)


def _code(reason: str) -> str:
    return inline_code(reason if len(reason) <= _LONGEST_SHOWN else f"{reason[: _LONGEST_SHOWN - 1]}…")


def standing_of(night: SkillNight, facts: SkillFacts) -> SkillStanding:
    """Return how a skill stands after a night."""
    url = next((one.url for one in night.offers.values() if one.is_open), "")
    found: tuple[tuple[bool, SkillStatus, str, str], ...] = (
        (night.training is Training.FAILED, SkillStatus.FAILED, night.reason, url),
        (night.training is Training.NO_SUITE, SkillStatus.UNMEASURABLE, night.reason, url),
        (bool(url), SkillStatus.OPEN, "", url),
        (night.training is Training.IGNORED, SkillStatus.IGNORED, night.reason, ""),
        (facts.stale, SkillStatus.STALE, facts.due, ""),
        (night.training is Training.WAITING, SkillStatus.DUE, night.reason, ""),
        (bool(facts.due), SkillStatus.DUE, facts.due, ""),
        (night.training is Training.BUSY, SkillStatus.DUE, night.reason, ""),
        (bool(facts.declined), SkillStatus.DECLINED, "", facts.declined),
    )
    status, reason, place = next(
        ((status, reason, place) for holds, status, reason, place in found if holds),
        (SkillStatus.UP_TO_DATE, next(iter(night.offer.notes), ""), ""),
    )
    return SkillStanding(
        skill=night.skill[:_LONGEST_NAME],
        status=status,
        reason=reason[:_LONGEST_REASON],
        url=place if len(place) <= _LONGEST_REASON else "",
    )


def update_dashboard(
    forge: Forge, record: NightRecord, nights: Sequence[SkillNight], cap_usd: float | None, now: datetime
) -> str:
    """Write the dashboard issue anew, with this night in it, and give its address; doing it again changes nothing."""
    issue = forge.find_issue(DASHBOARD_TOPIC)
    # The record comes from an artifact; a month to come would hide this one.
    record = record.model_copy(update={"at": min(record.at, now)})
    failures = [
        NightFailure(skill=one.skill[:_LONGEST_NAME], at=record.at, reason=one.reason[:_LONGEST_REASON])
        for one in nights
        if one.training is Training.FAILED
    ]
    memory = remember_night(read_memory(issue.body) if issue else DashboardMemory(), record, failures)
    found = [standing_of(one, record.skills.get(one.skill, SkillFacts())) for one in nights]
    # Of what this night did not look at, what an earlier one found still holds.
    kept = [one for one in memory.standings if one.skill in record.others]
    memory = memory.model_copy(update={"standings": (*found, *kept)[:_MOST_SKILLS]})
    # The time of the newest night, and not of this writing, which would change the text.
    newest = min(now, max((record.at, *(one.at for one in memory.nights))))
    return forge.issue(DASHBOARD_TOPIC, _TITLE, build_dashboard(memory, cap_usd, newest))


def _written(memory: DashboardMemory, most: int) -> str:
    """Write the memory as a comment; where it is too long, with less of the rest, for spending comes first."""
    text = ""
    bare = tuple(one.model_copy(update={"reason": ""}) for one in memory.standings)
    for points, standings in ((_MOST_POINTS, memory.standings), (10, bare), (5, bare), (2, bare), (0, bare), (0, ())):
        trends = {skill: found[-points:] for skill, found in memory.trends.items() if points}
        kept = memory.model_copy(update={"trends": trends, "standings": standings})
        # In JSON only texts hold `>`, which would end the comment, and may hold it in this way as well.
        json = kept.model_dump_json().replace(">", r"\u003e")
        text = f"<!-- skillopt memory: {json} -->"
        if len(text.encode()) <= most:
            break
    return text


def _month(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m}"
