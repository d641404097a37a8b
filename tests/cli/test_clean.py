"""`skillopt clean`: what is left behind is listed, and only what is named is removed."""

import json
from pathlib import Path

import pytest

from skillopt.storage.locks import writer_lock
from tests.fakes.projects import Trained, git, make_project, skillopt

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kinds(folder: Path, *options: str) -> set[str]:
    ended = skillopt(folder, "clean", "--json", *options)
    assert ended.returncode == 0, ended.stderr
    return {item["kind"] for item in json.loads(ended.stdout)["items"]}


def test_without_an_option_everything_is_listed_with_its_size_and_nothing_removed(trained: Trained) -> None:
    folder, _ = trained
    said = skillopt(folder, "clean").stdout
    assert (".skillopt/ledger.db, " in said, "skillopt/rows: " in said, "nothing was removed" in said) == (True,) * 3
    assert (folder / ".skillopt" / "ledger.db").exists()


def test_runs_removes_the_state_and_leaves_branches_and_what_is_yours(trained: Trained) -> None:
    folder, result = trained
    (folder / ".skillopt" / "handoff").mkdir()
    assert kinds(folder) == {"runs", "branches"}
    assert skillopt(folder, "clean", "--runs", "--yes").returncode == 0
    assert not (folder / ".skillopt").exists()
    assert (folder / "skillopt.toml").exists()
    assert git(folder, "rev-parse", "skillopt/rows") == result["versions"][-1]
    assert kinds(folder) == {"branches"}


def test_branches_go_only_where_they_are_named_and_one_that_is_checked_out_stays(trained: Trained) -> None:
    folder, _ = trained
    git(folder, "checkout", "--quiet", "skillopt/rows")
    said = skillopt(folder, "clean", "--branches", "--yes").stdout
    assert "skillopt/rows" in said
    assert "kept: it is checked" in said
    git(folder, "checkout", "--quiet", "main")
    assert skillopt(folder, "clean", "--branches", "--yes").returncode == 0
    assert git(folder, "branch", "--list", "skillopt/*", "skillopt-draft/*") == ""


def commit_on(folder: Path, branch: str, message: str, parent: str) -> str:
    made = git(folder, "commit-tree", "-p", parent, "-m", message, f"{parent}^{{tree}}")
    git(folder, "update-ref", f"refs/heads/{branch}", made)
    return made


@pytest.mark.parametrize("name", ["skillopt/My_Work/part", "skillopt/rows"])
def test_a_branch_of_a_person_in_the_programs_folder_of_branches_is_kept(name: str, tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    made = commit_on(folder, name, "Mine", "main")
    said = skillopt(folder, "clean", "--branches", "--yes").stdout
    assert f"committed there ({made[:10]})" in said
    assert git(folder, "rev-parse", name) == made


def test_accepted_versions_go_on_a_commit_of_a_person_only_where_another_branch_has_it(trained: Trained) -> None:
    folder, _ = trained
    mine = commit_on(folder, "skillopt/rows", "Mine", "skillopt/rows")
    tip = commit_on(folder, "skillopt/rows", "rows: sort\n\nSkill: rows\nSkillopt-Run: 1", mine)
    assert mine[:10] in skillopt(folder, "clean", "--branches", "--yes").stdout
    assert git(folder, "rev-parse", "skillopt/rows") == tip
    git(folder, "branch", "mine", mine)
    assert skillopt(folder, "clean", "--branches", "--yes").returncode == 0
    assert git(folder, "branch", "--list", "skillopt/*") == ""


def test_nothing_is_removed_while_something_trains(trained: Trained) -> None:
    folder, _ = trained
    with writer_lock(folder, "rows"):
        ended = skillopt(folder, "clean", "--runs", "--yes")
    assert ended.returncode == 2
    assert "process is training 'rows'" in ended.stderr
    assert (folder / ".skillopt" / "ledger.db").exists()


def test_a_state_folder_that_leads_elsewhere_is_left_alone(tmp_path: Path) -> None:
    folder, mine = make_project(tmp_path / "project"), tmp_path / "mine"
    mine.mkdir()
    (mine / "letter").write_text("Dear", encoding="utf-8")
    (folder / ".skillopt").symlink_to(mine)
    ended = skillopt(folder, "clean", "--runs", "--yes")
    assert ended.returncode == 2
    assert "found a link" in ended.stderr
    assert (mine / "letter").exists()


def test_the_commands_of_the_page_on_removing_remove_everything(trained: Trained) -> None:
    folder, _ = trained
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    page = page.partition("## Removing everything")[2].partition("\n## ")[0]
    shown = [line.removeprefix("$ skillopt ") for line in page.splitlines() if line.startswith("$ ")]
    assert len(shown) == 3
    for line in shown:
        assert skillopt(folder, *line.split()).returncode == 0
    assert skillopt(folder, "clean").stdout == "nothing to remove\n"


def test_python_packages_of_tasks_are_listed_and_removed_for_all_projects(cache: Path, tmp_path: Path) -> None:
    folder, venvs = make_project(tmp_path / "project"), cache / "skillopt" / "venvs"
    (venvs / "one").mkdir(parents=True)
    listed = skillopt(folder, "clean").stdout
    removed = skillopt(folder, "clean", "--cache", "--yes")
    assert removed.returncode == 0, removed.stderr
    assert f"cache       {venvs}, " in listed
    assert not venvs.exists()
