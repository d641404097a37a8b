"""The dashboard issue as people read it."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.reports.dashboard import (
    DashboardView,
    FailureView,
    SkillLine,
    SkillStatus,
    dashboard_text,
    sparkline,
)

URL = "https://github.com/acme/skills/pull/12"


def view(*skills: SkillLine, cap: float = 0.0, unpriced: int = 0, failure: FailureView | None = None) -> DashboardView:
    return DashboardView(skills, "2026-11", 3, 12.4, unpriced, cap, "2026-11-22 14:03 UTC", failure)


def test_what_people_should_look_at_comes_first_and_every_skill_is_there_once() -> None:
    lines = [SkillLine(f"skill-{number}", status) for number, status in enumerate(SkillStatus)]
    text = dashboard_text(view(*reversed(lines)))
    assert [text.count(line.skill) for line in lines] == [1] * len(lines)
    places = [text.index(line.skill) for line in lines]
    assert places == sorted(places)
    first = "**8 skills: 1 failed, 1 open, 1 cannot be measured, 1 due, 1 stale, 1 declined, 1 ignored.**"
    assert text.startswith(f"{first} Updated 2026-11-22 14:03 UTC.")


def test_a_skill_has_its_pull_request_its_trend_and_the_reason_in_one_line() -> None:
    text = dashboard_text(view(SkillLine("rows", SkillStatus.OPEN, "", URL, (0.375, 0.5, 1.0))))
    assert f"- **<code>rows</code>** [#12]({URL}) `▄▅█` 38% → 100% of tasks passed" in text.splitlines()
    text = dashboard_text(view(SkillLine("rows", SkillStatus.UNMEASURABLE, "it has no suite")))
    assert "- **<code>rows</code>**: <code>it has no suite</code>" in text.splitlines()


def test_the_month_is_shown_against_its_cap_and_what_is_not_known_is_said() -> None:
    assert "Spent in 2026-11: **$12.40**, 3 nights." in dashboard_text(view())
    assert "**$12.40** of $50.00, 3 nights; the cost of 1 night is not known in full." in dashboard_text(
        view(cap=50.0, unpriced=1)
    )


def test_the_last_failure_is_named_and_nobody_is_called_by_it() -> None:
    text = dashboard_text(view(failure=FailureView("2026-11-21", "rows", "@team broke #4 <script> /close")))
    assert "**Last failure** (2026-11-21, <code>rows</code>)" in text
    assert "@team" not in text
    assert "<script>" not in text


def test_an_address_that_is_none_is_no_link() -> None:
    for url in ("javascript:alert(1)", "https://x.example/1) [me](https://y.example", "/home/me/pull-requests/rows.md"):
        assert "](" not in dashboard_text(view(SkillLine("rows", SkillStatus.OPEN, url=url)))


def test_a_thousand_skills_and_long_reasons_stay_short_enough_for_an_issue() -> None:
    lines = [SkillLine(f"skill-{number}", SkillStatus.FAILED, "x" * 5000) for number in range(1000)]
    text = dashboard_text(view(*lines))
    assert len(text) < 30_000
    assert "- and 950 more" in text


@given(st.lists(st.floats(0, 1)))
def test_a_higher_share_is_never_a_lower_bar(shares: list[float]) -> None:
    bars = sparkline(sorted(shares))
    assert list(bars) == sorted(bars)
    assert len(bars) == len(shares)
