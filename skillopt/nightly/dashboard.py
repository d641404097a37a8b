"""The dashboard issue: every skill with its state, and what the month cost.

What it must remember from night to night stands at the end of its body, in an HTML comment: a night on a fresh machine
has nothing else. Whoever may edit issues may edit it, so it is read as untrusted text; what is not as it was written
counts as nothing. Lists and blocks of text, because apps of forges do not show tables and diagrams as a whole.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from skillopt.nightly.night import SkillNight, Training
from skillopt.protocols import Forge
from skillopt.reports.escape_markdown import inline_code, web_link
from skillopt.safety.plurals import count_noun

__all__ = [
    "DASHBOARD_TOPIC",
    "DashboardMemory",
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
_LONGEST_BODY: Final = 65_000
_LONGEST_NAME: Final = 200
_LONGEST_REASON: Final = 500
_LONGEST_SHOWN: Final = 300
_MOST_LINES: Final = 50
_MOST_NIGHTS: Final = 400
_MOST_SKILLS: Final = 1000
_NUMBER: Final = re.compile(r"/(\d+)\Z")

_Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
_Words = Annotated[str, Field(max_length=_LONGEST_REASON)]


class SkillStatus(StrEnum):
    """State of a skill, what people should look at first.

    `stale` was measured with another target, model or suite than is configured now; of a `declined` one people closed
    the pull request, and nothing newer is proven.
    """

    FAILED = "failed"
    OPEN = "open"
    UNMEASURABLE = "cannot be measured"
    DUE = "due"
    STALE = "stale"
    DECLINED = "declined"
    IGNORED = "ignored"
    UP_TO_DATE = "nothing to do"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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
    standings: Annotated[tuple[SkillStanding, ...], Field(max_length=_MOST_SKILLS)] = ()


class SkillFacts(_Strict):
    """What training found out about a skill, for the dashboard."""

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


def remember_night(memory: DashboardMemory, night: NightRecord) -> DashboardMemory:
    """Add a night to the memory; one that is there already changes nothing."""
    if any(one.id == night.id for one in memory.nights):
        return memory
    paid = _PaidNight(id=night.id, at=night.at, usd=night.usd, priced=night.priced)
    # The newest month counts: an older night that is offered late must not make its money free again.
    known = (*memory.nights, paid)
    month = max(_month(one.at) for one in known)
    nights = [one for one in known if _month(one.at) == month][-_MOST_NIGHTS:]
    return memory.model_copy(update={"nights": tuple(nights)})


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
    for status, count in numbers.items():
        if count:
            lines = [_line(one) for one in memory.standings if one.status is status][:_MOST_LINES]
            more = [f"- and {count - _MOST_LINES} more"] if count > _MOST_LINES else []
            parts.append("\n".join([f"### {status.value.capitalize()} ({count})", "", *lines, *more]))
    parts.append(
        "<sub>`skillopt nightly` writes this issue anew after each night; what is changed by hand here is lost. "
        "Close the issue to hear no more of it, or set `dashboard = false`.</sub>"
    )
    text = "\n\n".join(parts)
    return f"{text}\n\n{_written(memory, _LONGEST_BODY - len(text.encode()))}\n"


def _spent(memory: DashboardMemory, cap_usd: float | None, now: datetime) -> str:
    nights = [one for one in memory.nights if _month(one.at) == _month(now)]
    cap = f" of ${cap_usd:.2f}" if cap_usd else ""
    unpriced = sum(not one.priced for one in nights)
    unknown = f"; the cost of {count_noun(unpriced, 'night')} is not known in full" if unpriced else ""
    spent = f"**${spent_in_month(memory, now):.2f}**{cap}"
    return f"Spent in {_month(now)}: {spent}, {count_noun(len(nights), 'night')}{unknown}."


def _line(one: SkillStanding) -> str:
    """Show a skill; an address is a link only where it is one."""
    number = _NUMBER.search(one.url)
    link = web_link(one.url, f"#{number[1]}" if number else "pull request") if one.url else ""
    reason = f": {_code(one.reason)}" if one.reason else ""
    return f"- **{inline_code(one.skill)}**{f' {link}' if link else ''}{reason}"


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
    memory = remember_night(read_memory(issue.body) if issue else DashboardMemory(), record)
    found = [standing_of(one, record.skills.get(one.skill, SkillFacts())) for one in nights]
    # Of what this night did not look at, what an earlier one found still holds.
    kept = [one for one in memory.standings if one.skill in record.others]
    memory = memory.model_copy(update={"standings": (*found, *kept)[:_MOST_SKILLS]})
    # The time of the newest night, and not of this writing, which would change the text.
    newest = min(now, max((record.at, *(one.at for one in memory.nights))))
    return forge.issue(DASHBOARD_TOPIC, _TITLE, build_dashboard(memory, cap_usd, newest))


def _written(memory: DashboardMemory, most: int) -> str:
    """Write the memory as a comment; where it is too long, without states of skills, for spending comes first."""
    for kept in (memory, memory.model_copy(update={"standings": ()})):
        # In JSON only texts hold `>`, which would end the comment, and may hold it in this way as well.
        json = kept.model_dump_json().replace(">", r"\u003e")
        text = f"<!-- skillopt memory: {json} -->"
        if len(text.encode()) <= most:
            break
    return text


def _month(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m}"
