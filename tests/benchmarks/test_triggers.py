"""The table of trained descriptions, and the error of trainings on null data."""

from pathlib import Path

import pytest

from benchmarks import trigger_error, triggers
from skillopt.settings import GateRule
from tests.fakes.triggers import make_siblings


def test_each_skill_is_a_row_with_what_held_out_requests_showed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skills = make_siblings(tmp_path) / "skills"
    assert triggers.main([str(skills / "expense-claims"), str(skills / "sales-summary")]) == 0
    head, *rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert "recall before → after" in head
    first, second = rows[1:]
    assert first.startswith("| expense-claims | 13 + 15 | 0/7 (0% to 35%) → 7/7 (65% to 100%) | 0/8 (0% to 32%) → 0/8")
    assert "better: 7 better, 8 equal, 0 worse" in first
    assert second.startswith("| sales-summary | ")


def test_a_folder_that_cannot_be_trained_is_a_row_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "SKILL.md").write_text("# Bare\n", encoding="utf-8")
    assert triggers.main([str(tmp_path / "bare")]) == 0
    assert "expected requests that say when skill 'bare' should be loaded" in capsys.readouterr().out


@pytest.mark.parametrize("seed", ["1/18", "1/25"])
def test_what_trainings_that_begin_anew_accept_by_luck_is_not_accepted_where_they_share_their_error(seed: str) -> None:
    assert trigger_error.false_accept(seed, 10, GateRule.PAIRED, shared=False)
    assert not trigger_error.false_accept(seed, 10, GateRule.PAIRED, shared=True)
