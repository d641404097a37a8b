"""What the dashboard issue remembers from night to night."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from skillopt.nightly.dashboard import (
    DashboardMemory,
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
)
from skillopt.nightly.folder_forge import FolderForge
from skillopt.nightly.night import SkillNight, Training
from skillopt.nightly.posting import PullRequestUpdate

URL = "https://github.com/acme/skills/pull/3"
OPEN = PullRequestUpdate("updated", URL, is_open=True)
NOW = datetime(2026, 11, 22, 3, 14, tzinfo=UTC)


def night(number: int, usd: float = 1.0, at: datetime = NOW) -> NightRecord:
    return NightRecord(id=f"{number:012x}", at=at, usd=usd)


def remembered(*nights: NightRecord) -> DashboardMemory:
    memory = DashboardMemory(standings=(SkillStanding(skill="rows", status=SkillStatus.DUE),))
    for one in nights:
        memory = remember_night(memory, one)
    return memory


def body(memory: DashboardMemory, cap: float = 0.0) -> str:
    return build_dashboard(memory, cap, NOW)


def test_what_is_written_into_the_issue_is_read_back_by_the_next_night() -> None:
    memory = remembered(night(1, 2.5), night(2, 0.5))
    assert read_memory(body(memory)) == memory
    standing = SkillStanding(skill="rows", status=SkillStatus.FAILED, reason="@team broke #4 <script> --> /close")
    text = body(memory.model_copy(update={"standings": (standing,)}), 50.0)
    assert read_memory(text).standings == (standing,)
    assert text.rstrip().count("-->", text.index("<!-- skillopt memory")) == 1
    shown = text.partition("<!--")[0]
    assert "Spent in 2026-11: **$3.00** of $50.00, 2 nights." in shown
    assert "@team" not in shown
    assert "<script>" not in shown


def test_a_night_that_is_offered_again_an_hour_later_changes_nothing(tmp_path: Path) -> None:
    forge, texts = FolderForge(tmp_path), []
    for hour in range(3):
        path = Path(update_dashboard(forge, night(1, 2.5), (), 0.0, NOW + timedelta(hours=hour)))
        texts.append(path.read_text(encoding="utf-8"))
    assert "Updated 2026-11-22 03:14 UTC." in texts[0]
    assert len(set(texts)) == 1


def test_a_new_month_begins_with_nothing_spent_and_an_older_night_that_is_late_makes_no_money_free_again() -> None:
    memory = remembered(night(1, 40.0, NOW - timedelta(days=30)))
    assert spent_in_month(memory, NOW) == 0
    memory = remember_night(memory, night(2, 1.0))
    assert (spent_in_month(memory, NOW), len(memory.nights)) == (1.0, 1)
    memory = remembered(night(1, 90.0, at=datetime(2026, 12, 1, tzinfo=UTC)))
    memory = remember_night(memory, night(2, 5.0, at=datetime(2026, 11, 30, tzinfo=UTC)))
    assert spent_in_month(memory, datetime(2026, 12, 2, tzinfo=UTC)) == 90.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!-- skillopt memory: {} --> and more",
        "<!-- skillopt memory: {not json} -->",
        '<!-- skillopt memory: {"nights": [{"id": "0123456789ab", "at": "2026-11-22T03:14:00Z", "usd": -5}]} -->',
        '<!-- skillopt memory: {"surprise": 1} -->',
    ],
)
def test_a_memory_that_people_have_damaged_counts_as_none(text: str) -> None:
    assert read_memory(text) == DashboardMemory()


def test_a_thousand_skills_fit_into_an_issue_and_spending_is_what_is_kept() -> None:
    memory = remembered(*(night(number, 1.0) for number in range(30)))
    names = [f"a-skill-with-a-rather-long-name-{number}" for number in range(900)]
    standings = tuple(SkillStanding(skill=name, status=SkillStatus.FAILED, reason="x" * 400) for name in names)
    text = build_dashboard(memory.model_copy(update={"standings": standings}), None, NOW)
    assert len(text.encode()) < 65_536
    assert spent_in_month(read_memory(text), NOW) == 30.0


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


def shown(*skills: SkillStanding) -> str:
    return body(DashboardMemory(standings=skills))


def test_a_skill_has_its_pull_request_and_the_reason_in_one_line() -> None:
    text = shown(SkillStanding(skill="rows", status=SkillStatus.OPEN, url=URL))
    assert f"- **<code>rows</code>** [#3]({URL})" in text.splitlines()
    text = shown(SkillStanding(skill="rows", status=SkillStatus.UNMEASURABLE, reason="it has no suite"))
    assert "- **<code>rows</code>**: <code>it has no suite</code>" in text.splitlines()
    for url in ("javascript:alert(1)", "https://x.example/1) [me](https://y.example", "/home/me/rows.md"):
        assert "](" not in shown(SkillStanding(skill="rows", status=SkillStatus.OPEN, url=url)).partition("<!--")[0]
