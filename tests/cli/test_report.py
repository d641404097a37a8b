"""`skillopt report` on real runs: which run is meant, and what ledger and git hold of it."""

import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from skillopt.errors import UsageError
from skillopt.reports.view import RunView
from tests.fakes.projects import Trained, recorded_view, skillopt


@pytest.fixture
def viewed(trained: Trained) -> tuple[Path, RunView]:
    folder, result = trained
    return folder, recorded_view(folder, str(result["run"]))


def test_the_view_repeats_what_the_run_said_at_its_end(viewed: tuple[Path, RunView]) -> None:
    folder, view = viewed
    told = json.loads(skillopt(folder, "status", "--json").stdout)["runs"][0]
    assert (view.state, view.reason, view.skill) == ("finished", told["reason"], "rows")
    assert {role: used.calls for role, used in view.spend.items()} == {
        role: used["calls"] for role, used in told["spent"].items()
    }
    assert view.rollouts == view.spend["target"].calls
    assert view.test is not None
    assert view.test.verdict.pairs[0].score_after == 1.0


def test_a_run_is_found_by_its_id_its_skill_or_by_being_the_newest(viewed: tuple[Path, RunView]) -> None:
    folder, view = viewed
    assert recorded_view(folder, view.run[:6]) == recorded_view(folder, "rows") == recorded_view(folder)
    with pytest.raises(UsageError, match="'nothing'"):
        recorded_view(folder, "nothing")


def test_a_file_gets_the_format_of_its_name(viewed: tuple[Path, RunView]) -> None:
    folder, _ = viewed
    for name, start in (("a.md", "# <code>rows"), ("a.json", "{"), ("a.html", "<!doctype")):
        assert skillopt(folder, "report", "-o", name).returncode == 0
        assert (folder / name).read_text(encoding="utf-8").startswith(start)


def test_on_stdout_it_is_plain_text_that_fits_a_terminal(viewed: tuple[Path, RunView]) -> None:
    folder, _ = viewed
    told = skillopt(folder, "report").stdout
    assert max(map(cell_len, told.splitlines())) <= 120
    assert not re.search(r"&#x|<code>|\|---|\*\*|`", told)


def page(folder: Path) -> str:
    return skillopt(folder, "report", "--format", "html").stdout


def splits_of_rollouts(shown: str) -> set[str]:
    """Find the splits of the tasks of which a page shows rollouts."""
    viewer = shown[shown.index('id="rollouts"') : shown.index('id="settings"')]
    return set(re.findall(r'<bdi class="mono">(train|val|test)\d', viewer))


def test_a_page_shows_rollouts_of_train_tasks_and_of_no_others(trained: Trained) -> None:
    folder, _ = trained
    shown = page(folder)
    assert splits_of_rollouts(shown) == {"train"}
    ended = skillopt(folder, "report", "rows", "--output", str(folder / "report.html"))
    assert (ended.stdout, ended.stderr) == ("", f"written to {folder / 'report.html'}\n")
    assert (folder / "report.html").read_text(encoding="utf-8") == shown
    (folder / "suites" / "rows.jsonl").rename(folder / "aside.jsonl")
    assert splits_of_rollouts(page(folder)) <= {"train"}, "a task whose split is not known may be held out"
