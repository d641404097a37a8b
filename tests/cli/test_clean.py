"""`skillopt clean`: what is left behind is listed, and only what is named is removed."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt.rollouts import Message, Reply, Rollout, Score, Status, Stream, Trajectory
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import encode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import writer_lock
from skillopt.storage.notes import mark_unreported
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
    assert len(shown) == 5
    for line in sorted(shown, key=lambda one: "--records" not in one):  # old answers first, while there are some
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


SKILL = Skill("rows", SkillDocument("---\nname: rows\ndescription: Cleans.\n---\n# Rows\n"))
NOW = datetime.now(UTC)


def rollout(task: str, skill: str, stream: Stream) -> Rollout:
    trajectory = Trajectory((Message("user", "Clean it."),), "done")
    return Rollout(task, skill, stream.repeat(0), trajectory, Status.OK, Score(1.0, passed=True))


def add_run(root: Path, name: str, days_ago: int, *, state: str = "finished", skill: str = "rows") -> None:
    """Record a run that learnt from one rollout, compared by another, and asked one reply."""
    at = (NOW - timedelta(days=days_ago)).isoformat(timespec="seconds")
    with closing(Ledger.open(root, now=lambda: at)) as ledger:
        ledger.begin_run(RunRecord(name, skill, "", '[{}, "demo"]', "c", "s", encode_skill(SKILL), "", 0))
        pairs = [(f"{name}-{s.name}", rollout("t", f"text of {name}", s)) for s in (Stream.LEARNING, Stream.LOOP)]
        ledger.store_rollouts(name, pairs, "demo")
        ledger.store_replies(name, [(f"{name}-reply", Reply("edit"))], "model")
        if state != "running":
            ledger.end_run(name, state, "")


def left(root: Path) -> set[str]:
    with closing(sqlite3.connect(root / ".skillopt" / "ledger.db")) as database:
        return {key for (key,) in database.execute("SELECT key FROM calls")}


def prune(root: Path, *options: str) -> dict[str, Any]:
    ended = skillopt(root, "clean", "--records", "--json", *(options or ("--yes",)))
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "skillopt.toml").write_text("", encoding="utf-8")
    add_run(tmp_path, "old", 400)
    add_run(tmp_path, "new", 10)
    return tmp_path


def test_prune_removes_what_an_old_run_learnt_from_and_keeps_what_gates_compared(root: Path) -> None:
    before = left(root)
    answers = prune(root)["answers"]
    assert (answers["rollouts"], answers["replies"]) == (1, 1)
    assert before - left(root) == {"old-LEARNING", "old-reply"}
    with closing(Ledger.open(root, read_only=True)) as ledger:
        assert {run.id for run in ledger.runs()} == {"old", "new"}


@pytest.mark.parametrize("state", ["stopped", "not shown"])
def test_nothing_goes_of_a_skill_that_has_a_run_which_can_go_on_or_was_not_shown_yet(root: Path, state: str) -> None:
    if state == "not shown":
        mark_unreported(root, "old")
    else:
        add_run(root, "cut", 300, state=state)
    before = left(root)
    prune(root)
    assert left(root) == before
