"""What the dashboard issue remembers from night to night."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skillopt.nightly.dashboard import (
    DashboardMemory,
    NightFailure,
    NightRecord,
    SkillFacts,
    SkillStanding,
    SkillStatus,
    build_dashboard,
    read_memory,
    remember_night,
    spent_in_month,
    standing_of,
    update_dashboard,
    why_no_money,
)
from skillopt.nightly.folder_forge import FolderForge
from skillopt.nightly.night import SkillNight, Training
from skillopt.nightly.posting import PullRequestUpdate

URL = "https://github.com/acme/skills/pull/3"
OPEN = PullRequestUpdate("updated", URL, is_open=True)
NOW = datetime(2026, 11, 22, 3, 14, tzinfo=UTC)


def night(number: int, usd: float = 1.0, passed: dict[str, float] | None = None, at: datetime = NOW) -> NightRecord:
    skills = {skill: SkillFacts(passed=share) for skill, share in (passed or {}).items()}
    return NightRecord(id=f"{number:012x}", at=at, usd=usd, skills=skills)


def remembered(*nights: NightRecord) -> DashboardMemory:
    memory = DashboardMemory(standings=(SkillStanding(skill="rows", status=SkillStatus.DUE),))
    for one in nights:
        memory = remember_night(memory, one)
    return memory


def body(memory: DashboardMemory, cap: float = 0.0) -> str:
    return build_dashboard(memory, cap, NOW)


def test_what_is_written_into_the_issue_is_read_back_by_the_next_night() -> None:
    memory = remembered(night(1, 2.5, {"rows": 0.25}), night(2, 0.5, {"rows": 0.75, "dates": 1.0}))
    assert read_memory(body(memory)) == memory
    assert memory.trends == {"rows": (0.25, 0.75), "dates": (1.0,)}
    assert "`▃▆` 25% → 75% of tasks passed" in body(memory)


def test_a_night_that_is_offered_again_an_hour_later_changes_nothing(tmp_path: Path) -> None:
    forge, texts = FolderForge(tmp_path), []
    for hour in range(3):
        path = Path(update_dashboard(forge, night(1, 2.5, {"rows": 0.25}), (), 0.0, NOW + timedelta(hours=hour)))
        texts.append(path.read_text(encoding="utf-8"))
    assert "Updated 2026-11-22 03:14 UTC." in texts[0]
    assert len(set(texts)) == 1


def test_a_new_month_begins_with_nothing_spent_and_an_older_night_that_is_late_makes_no_money_free_again() -> None:
    memory = remembered(night(1, 40.0, {"rows": 0.25}, NOW - timedelta(days=30)))
    assert spent_in_month(memory, NOW) == 0
    memory = remember_night(memory, night(2, 1.0, {"rows": 0.5}))
    assert (spent_in_month(memory, NOW), len(memory.nights), memory.trends["rows"]) == (1.0, 1, (0.25, 0.5))
    memory = remembered(night(1, 90.0, at=datetime(2026, 12, 1, tzinfo=UTC)))
    memory = remember_night(memory, night(2, 5.0, at=datetime(2026, 11, 30, tzinfo=UTC)))
    assert spent_in_month(memory, datetime(2026, 12, 2, tzinfo=UTC)) == 90.0


@pytest.mark.parametrize("change", [{"usd": 2e9}, {"usd": float("inf")}, {"skills": {"x" * 300: {}}}])
def test_a_record_that_could_not_be_remembered_is_refused_when_it_is_read(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NightRecord.model_validate({"id": "0" * 12, "at": NOW, **change})


def test_a_month_s_cap_is_shared_by_its_nights() -> None:
    memory = remembered(night(1, 20.0), night(2, 30.5))
    assert why_no_money(memory, 60.0, NOW) == why_no_money(memory, None, NOW) == ""
    assert why_no_money(memory, 50.0, NOW) == ("the month's $50.00 (monthly_usd) are used up: $50.50 spent in 2026-11")
    assert why_no_money(memory, 50.0, NOW + timedelta(days=30)) == ""


def test_the_last_failure_stays_until_another_one() -> None:
    failure = NightFailure(skill="rows", at=NOW, reason="HTTP 500 --> <!-- -->")
    memory = remember_night(DashboardMemory(), night(1), [failure])
    memory = remember_night(memory, night(2))
    assert memory.failure == failure
    text = body(memory)
    assert read_memory(text) == memory
    assert text.rstrip().count("-->", text.index("<!-- skillopt memory")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!-- skillopt memory: {} --> and more",
        "<!-- skillopt memory: {not json} -->",
        '<!-- skillopt memory: {"nights": [{"id": "0123456789ab", "at": "2026-11-22T03:14:00Z", "usd": -5}]} -->',
        '<!-- skillopt memory: {"trends": {"rows": [2.0]}} -->',
        '<!-- skillopt memory: {"surprise": 1} -->',
    ],
)
def test_a_memory_that_people_have_damaged_counts_as_none(text: str) -> None:
    assert read_memory(text) == DashboardMemory()


def test_a_thousand_skills_fit_into_an_issue_and_spending_is_what_is_kept() -> None:
    passed = {f"a-skill-with-a-rather-long-name-{number}": 0.123 for number in range(900)}
    memory = remembered(*(night(number, 1.0, passed) for number in range(30)))
    standings = tuple(SkillStanding(skill=name, status=SkillStatus.FAILED, reason="x" * 400) for name in passed)
    text = build_dashboard(memory.model_copy(update={"standings": standings}), None, NOW)
    assert len(text.encode()) < 65_536
    assert spent_in_month(read_memory(text), NOW) == 30.0


@given(st.text(max_size=300), st.text(max_size=60), st.floats(0, 1e6), st.lists(st.floats(0, 1), max_size=30))
def test_whatever_is_remembered_is_read_back(reason: str, skill: str, usd: float, shares: list[float]) -> None:
    nights = [night(number, usd, {skill: share}) for number, share in enumerate(shares)]
    memory = remembered(*nights)
    if shares:
        memory = remember_night(memory, nights[-1], [NightFailure(skill=skill, at=NOW, reason=reason)])
    assert read_memory(body(memory)) == memory


@pytest.mark.parametrize(
    ("night_of_skill", "facts", "status", "url"),
    [
        (SkillNight("rows", Training.FAILED, reason="x", offer=OPEN), SkillFacts(), SkillStatus.FAILED, URL),
        (SkillNight("rows", Training.NO_SUITE, reason="x"), SkillFacts(), SkillStatus.UNMEASURABLE, ""),
        (SkillNight("rows", Training.FINISHED, offer=OPEN), SkillFacts(due="y"), SkillStatus.OPEN, URL),
        (SkillNight("rows", Training.NOT_DUE, draft=OPEN), SkillFacts(), SkillStatus.OPEN, URL),
        (SkillNight("rows", Training.IGNORED, reason="x"), SkillFacts(due="y"), SkillStatus.IGNORED, ""),
        (SkillNight("rows", Training.WAITING, reason="x"), SkillFacts(due="y", stale=True), SkillStatus.STALE, ""),
        (SkillNight("rows", Training.WAITING, reason="x"), SkillFacts(due="y"), SkillStatus.DUE, ""),
        (SkillNight("rows", Training.STOPPED), SkillFacts(due="y", declined=URL), SkillStatus.DUE, ""),
        (SkillNight("rows", Training.NOT_DUE), SkillFacts(declined=URL), SkillStatus.DECLINED, URL),
        (SkillNight("rows", Training.NOT_DUE), SkillFacts(), SkillStatus.UP_TO_DATE, ""),
    ],
)
def test_a_skill_has_one_state(night_of_skill: SkillNight, facts: SkillFacts, status: SkillStatus, url: str) -> None:
    standing = standing_of(night_of_skill, facts)
    assert (standing.skill, standing.status, standing.url) == ("rows", status, url)


def shown(*skills: SkillStanding, **memory: object) -> str:
    return body(DashboardMemory.model_validate({"standings": skills, **memory}))


def test_what_people_should_look_at_comes_first_and_every_skill_is_there_once() -> None:
    skills = [SkillStanding(skill=f"skill-{number}", status=status) for number, status in enumerate(SkillStatus)]
    text = shown(*reversed(skills)).partition("<!--")[0]
    places = [text.index(one.skill) for one in skills]
    assert places == sorted(places)
    assert [text.count(one.skill) for one in skills] == [1] * len(skills)
    first = "**8 skills: 1 failed, 1 open, 1 cannot be measured, 1 due, 1 stale, 1 declined, 1 ignored.**"
    assert text.startswith(f"{first} Updated 2026-11-22 03:14 UTC.")


def test_a_skill_has_its_pull_request_its_trend_and_the_reason_in_one_line() -> None:
    text = shown(SkillStanding(skill="rows", status=SkillStatus.OPEN, url=URL), trends={"rows": (0.375, 0.5, 1.0)})
    assert f"- **<code>rows</code>** [#3]({URL}) `▄▅█` 38% → 100% of tasks passed" in text.splitlines()
    text = shown(SkillStanding(skill="rows", status=SkillStatus.UNMEASURABLE, reason="it has no suite"))
    assert "- **<code>rows</code>**: <code>it has no suite</code>" in text.splitlines()
    for url in ("javascript:alert(1)", "https://x.example/1) [me](https://y.example", "/home/me/rows.md"):
        assert "](" not in shown(SkillStanding(skill="rows", status=SkillStatus.OPEN, url=url)).partition("<!--")[0]


def test_the_month_is_shown_against_its_cap_and_a_failure_calls_nobody() -> None:
    nights = [{"id": f"{number:012x}", "at": NOW, "usd": 6.2, "priced": number == 0} for number in range(2)]
    failure = NightFailure(skill="rows", at=NOW, reason="@team broke #4 <script> /close")
    memory = DashboardMemory.model_validate({"nights": nights, "failure": failure})
    assert "Spent in 2026-11: **$12.40**, 2 nights; the cost of 1 night is not known in full." in body(memory)
    text = body(memory, 50.0).partition("<!--")[0]
    assert "**$12.40** of $50.00, 2 nights" in text
    assert "**Last failure** (2026-11-22, <code>rows</code>)" in text
    assert "@team" not in text
    assert "<script>" not in text
