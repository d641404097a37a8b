"""What a dashboard issue must remember from night to night: spending of the month, trends, the last failure.

It stands in the body of the issue, in an HTML comment: a night on a fresh machine has nothing else. Whoever may edit
issues may edit it, so it is read as untrusted text; what is not as it was written counts as nothing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from skillopt.nightly.night import SkillNight, Training
from skillopt.protocols import Forge
from skillopt.reports.dashboard import (
    DASHBOARD_TITLE,
    DashboardView,
    FailureView,
    SkillLine,
    SkillStatus,
    dashboard_text,
)

__all__ = [
    "DASHBOARD_TOPIC",
    "DashboardMemory",
    "NightFailure",
    "NightRecord",
    "SkillFacts",
    "SkillStanding",
    "build_dashboard",
    "read_memory",
    "remember_night",
    "spent_in_month",
    "standing_of",
    "update_dashboard",
    "why_no_money",
]

DASHBOARD_TOPIC: Final = "dashboard"

_COMMENT: Final = re.compile(r"<!-- skillopt memory: (?P<json>\{[^\n]*\}) -->\s*\Z")
_LONGEST: Final = 50_000
_LONGEST_BODY: Final = 65_000
_LONGEST_NAME: Final = 200
_LONGEST_REASON: Final = 500
_MOST_NIGHTS: Final = 400
_MOST_SKILLS: Final = 1000
_MOST_POINTS: Final = 20

_Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Words = Annotated[str, Field(max_length=_LONGEST_REASON)]
_Id = Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NightFailure(_Strict):
    """What failed in a night: of which skill, when, and why."""

    skill: _Name
    at: AwareDatetime
    reason: _Words


class _PaidNight(_Strict):
    """A night of this month."""

    id: _Id
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


class NightRecord(_Strict):
    """What a night adds to the memory."""

    id: _Id
    at: AwareDatetime
    usd: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    priced: bool = True
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
    lines = tuple(
        SkillLine(one.skill, one.status, one.reason, one.url, memory.trends.get(one.skill, ()))
        for one in memory.standings
    )
    nights = [one for one in memory.nights if _month(one.at) == _month(now)]
    failure = memory.failure
    view = DashboardView(
        lines,
        _month(now),
        len(nights),
        spent_in_month(memory, now),
        sum(not one.priced for one in nights),
        cap_usd,
        f"{now.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        FailureView(f"{failure.at.astimezone(UTC):%Y-%m-%d}", failure.skill, failure.reason) if failure else None,
    )
    text = dashboard_text(view)
    return f"{text}\n\n{_written(memory, min(_LONGEST, _LONGEST_BODY - len(text.encode())))}\n"


def standing_of(night: SkillNight, facts: SkillFacts) -> SkillStanding:
    """Return how a skill stands after a night."""
    url = next((one.url for one in (night.offer, night.draft, night.description) if one.is_open), "")
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
    return forge.issue(DASHBOARD_TOPIC, DASHBOARD_TITLE, build_dashboard(memory, cap_usd, newest))


def _written(memory: DashboardMemory, most: int) -> str:
    """Write the memory as a comment; where it is too long, with less of the rest, for spending comes first."""
    text = ""
    bare = tuple(one.model_copy(update={"reason": ""}) for one in memory.standings)
    for points, standings in ((_MOST_POINTS, memory.standings), *((points, bare) for points in (10, 5, 2, 0)), (0, ())):
        trends: Mapping[str, tuple[float, ...]] = {
            skill: found[-points:] for skill, found in memory.trends.items() if points
        }
        # In JSON only texts hold `>`, which would end the comment, and may hold it in this way as well.
        json = (
            memory.model_copy(update={"trends": trends, "standings": standings})
            .model_dump_json()
            .replace(">", r"\u003e")
        )
        text = f"<!-- skillopt memory: {json} -->"
        if len(text.encode()) <= most:
            break
    return text


def _month(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m}"
