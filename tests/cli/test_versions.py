"""Versions and drafts: looking back, take, decline, and the commits that training makes."""

import json
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.storage.ledger import Ledger
from skillopt.versions.repository import Repository
from tests.fakes.drafts import accepted, changed, graded, run_events
from tests.fakes.projects import FAST, SKILL, Trained, as_json, git, make_project, skillopt

pytestmark = pytest.mark.process

EMAIL, DATES = "Write e-mail addresses in lower case.", "Write dates as YYYY-MM-DD."


def copy(folder: Path, place: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", "--no-local", folder, place], check=True)
    git(place, "branch", "skillopt/rows", "origin/skillopt/rows")
    return place


def test_in_a_clone_show_tells_what_the_commits_say(trained: Trained, tmp_path: Path) -> None:
    folder = copy(trained[0], tmp_path / "copy")
    shown = skillopt(folder, "show", "skillopt/rows").stdout
    for told in ("Val-After: ", "+- ", "(tasks train"):
        assert told in shown
    found = as_json(folder, "show", trained[1]["versions"][0][:10])
    assert found["kind"] == "accepted"
    assert all(edit["tasks"] for edit in found["edits"])
    assert ["Skillopt-Run", trained[1]["run"]] in found["version"]["trailers"]
    assert not (folder / ".skillopt").exists()


def test_take_makes_the_draft_a_version_with_its_grade_and_the_name_of_who_took_it(folder: Path) -> None:
    run_events(folder, graded(EMAIL))
    ended = skillopt(folder, "take", "rows")
    assert ended.returncode == 0, ended.stderr
    assert "grade: likely better (91%)" in ended.stdout
    (version,) = Repository.find(folder).versions("rows")
    assert "rows: take the draft" in version.subject
    assert version.trailer("Taken-By") == Repository.find(folder).identity
    assert (version.trailer("Grade"), version.trailer("Probability")) == ("likely better", "0.910")
    assert version.trailer("Files-Digest") == ""
    assert git(folder, "show", "skillopt/rows:skills/rows/SKILL.md").endswith(f"- {EMAIL}")
    assert git(folder, "branch", "--list", "skillopt-draft/*") == ""
    assert git(folder, "status", "--porcelain") == ""


def test_a_draft_of_a_text_that_is_not_the_newest_any_more_is_refused(folder: Path) -> None:
    run_events(folder, graded(EMAIL))
    run_events(folder, accepted(DATES), seed=1)
    ended = skillopt(folder, "take", "rows")
    assert ended.returncode == 2
    assert "`skillopt optimize rows`" in ended.stderr
    assert len(Repository.find(folder).versions("rows")) == 1


def test_a_draft_is_taken_on_top_of_a_text_that_git_lacked(folder: Path) -> None:
    document = folder / "skills" / "rows" / "SKILL.md"
    document.write_text(document.read_text() + "- By hand.\n")
    run_events(folder, graded(EMAIL))
    skillopt(folder, "take", "rows")
    assert len(git(folder, "log", "--format=%s", "main..skillopt/rows").splitlines()) == 2


def test_every_command_that_takes_a_version_takes_the_draft(folder: Path) -> None:
    run_events(folder, graded(EMAIL))
    diffed = skillopt(folder, "diff", "rows", "draft").stdout
    assert f"+- {EMAIL}" in diffed
    assert f"+- {EMAIL}" in skillopt(folder, "diff", "rows", "worktree", "draft").stdout
    assert EMAIL in skillopt(folder, "diff", "rows", "draft").stdout
    shown = skillopt(folder, "show", "draft").stdout
    assert "Grade: likely better" in shown
    assert "(tasks train-0)" in shown
    assert as_json(folder, "show", "draft", "rows")["kind"] == "draft"
    measured = as_json(folder, "evaluate", "rows", "--of", "worktree", "--of", "draft")
    assert [subject["name"] for subject in measured["subjects"]] == ["worktree", "draft"]
    verdict = measured["subjects"][1]["against_first"]
    assert verdict["after"] > verdict["before"]


@pytest.mark.parametrize("name", ["1", "v1"])
def test_a_version_is_found_by_the_number_that_its_run_told(folder: Path, name: str) -> None:
    run_events(folder, accepted(DATES), seed=1)
    git(folder, "checkout", "--quiet", "skillopt/rows", "--", "skills/rows")
    run_events(folder, accepted(DATES, EMAIL), seed=2)
    newest = Repository.find(folder).versions("rows")[0].sha
    assert as_json(folder, "show", name, "rows")["version"]["sha"] == newest
    assert f"+- {EMAIL}" in skillopt(folder, "diff", "rows", name.replace("1", "0"), name).stdout
    evaluated = as_json(folder, "evaluate", "rows", "--of", name, "--of", newest)
    assert len({subject["digest"] for subject in evaluated["subjects"]}) == 1
    assert skillopt(folder, "rollback", "rows", name).returncode == 2
    assert skillopt(folder, "rollback", "rows", name.replace("1", "0")).returncode == 0
    assert skillopt(folder, "show", name.replace("1", "7"), "rows").returncode == 2


@pytest.fixture
def project(trained: Trained) -> Path:
    """Return a trained project, with a version or more that `main` lacks."""
    return trained[0]


def text(folder: Path, commit: str) -> str:
    return git(folder, "show", f"{commit}:skills/rows/SKILL.md")


class TestDecline:
    def test_what_is_declined_is_marked_and_the_text_of_the_default_branch_is_the_newest(self, project: Path) -> None:
        versions = as_json(project, "log", "rows")["versions"]
        ended = skillopt(project, "decline", "rows", "--reason", "too long\nfor @us")
        assert (ended.returncode, text(project, "skillopt/rows")) == (0, text(project, "main")), ended.stderr
        listed = skillopt(project, "log", "rows").stdout
        row = " ".join(listed.partition(versions[0]["sha"][:10])[2].split())
        assert "declined by Tester: too" in row
        assert "declined by" in skillopt(project, "show", versions[0]["sha"]).stdout

    def test_the_next_training_starts_from_there_and_tries_no_refused_edit(self, project: Path) -> None:
        refused = as_json(project, "log", "rows")["edits"]
        declined = as_json(project, "decline", "rows", "--reason", "we never asked for this")
        run = as_json(project, "optimize", "rows", *FAST)["run"]
        with closing(Ledger.open(project, read_only=True)) as ledger:
            assert ledger.run(run).base == declined["commit"]
        contents = {one["edit"]["content"] for one in refused}
        newest = text(project, "skillopt/rows")
        assert not any(content.strip() in newest for content in contents if content)

    def test_taken_back_it_is_the_newest_again(self, project: Path) -> None:
        before = text(project, "skillopt/rows")
        declined = as_json(project, "decline", "rows")["declined"]
        as_json(project, "decline", "--undo", "rows")
        assert text(project, "skillopt/rows") == before
        assert all(one["declined"] is None for one in as_json(project, "log", "rows")["versions"])
        assert skillopt(project, "decline", "--undo", "rows", declined[-1][:10]).returncode == 2


class TestDrop:
    def test_one_edit_goes_and_the_others_stay(self, project: Path) -> None:
        edits = as_json(project, "log", "rows")["edits"]
        before = text(project, "skillopt/rows")
        assert skillopt(project, "decline", "rows", "99").returncode == 2
        ended = skillopt(project, "decline", "rows", "1", "--reason", "wrong")
        assert f" {git(project, 'rev-parse', 'skillopt/rows')[:10]} --direct" in ended.stdout, ended.stderr
        after = text(project, "skillopt/rows")
        assert edits[0]["edit"]["content"].strip() in before
        assert edits[0]["edit"]["content"].strip() not in after
        now = as_json(project, "log", "rows")["edits"]
        assert [one["dropped"] for one in now] == [True, *[False] * (len(edits) - 1)]
        assert "was dropped before" in skillopt(project, "decline", "rows", "1").stderr


class TestDrafts:
    def test_an_edit_of_a_draft_is_taken_out_of_it_and_remembered(self, folder: Path) -> None:
        run_events(folder, changed("Trim.", "Sort."), graded("Trim.", "Sort."))
        as_json(folder, "decline", "rows", "2", "--reason", "no")
        draft = text(folder, "skillopt-draft/rows")
        assert "Trim." in draft
        assert "Sort." not in draft
        assert text(folder, "skillopt/rows") == text(folder, "main")
        assert skillopt(folder, "take", "rows").returncode == 0
        assert "Trim." in text(folder, "skillopt/rows")

    def test_a_declined_draft_can_be_brought_back(self, folder: Path) -> None:
        run_events(folder, changed("Trim."), graded("Trim."))
        declined = as_json(folder, "decline", "rows", "draft")["declined"]
        assert git(folder, "branch", "--list", "skillopt-draft/rows") == ""
        as_json(folder, "decline", "--undo", "rows", declined[0])
        assert "Trim." in text(folder, "skillopt/rows")


def test_training_commits_versions_on_its_own_branch_and_touches_nothing_else(trained: Trained) -> None:
    folder, result = trained
    assert git(folder, "rev-parse", "skillopt/rows") == result["versions"][-1]
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert (folder / "skills" / "rows" / "SKILL.md").read_text() == SKILL
    assert git(folder, "diff", "--name-only", "main", "skillopt/rows") == "skills/rows/SKILL.md"


@pytest.mark.process
def test_workers_change_nothing_but_time(tmp_path: Path) -> None:
    outcomes = []
    for workers in ("1", "8"):
        folder = make_project(tmp_path / workers)
        result = json.loads(skillopt(folder, "optimize", "rows", "--json", "--set", f"workers={workers}", *FAST).stdout)
        report = json.loads(skillopt(folder, "report", "--json").stdout)
        branch = skillopt(folder, "diff", "rows").stdout if result["versions"] else ""
        verdicts = [gate["verdict"] for gate in report["gates"]]
        outcomes.append((report["edits"], verdicts, report["heat"], branch))
    assert outcomes[0] == outcomes[1]


def test_a_changed_work_tree_beside_a_trained_branch_asks_which_text_to_train(tmp_path: Path, trained: Trained) -> None:
    folder = tmp_path / "copy"
    git(tmp_path, "clone", "--quiet", "--no-local", str(trained[0]), str(folder))
    git(folder, "branch", "skillopt/rows", "origin/skillopt/rows")
    (folder / "skills" / "rows" / "SKILL.md").write_text(SKILL + "- Write the header in lower case.\n")
    ended = skillopt(folder, "optimize", "rows", *FAST)
    assert (ended.returncode, "--start worktree" in ended.stderr) == (2, True)
    said = [
        skillopt(folder, "optimize", "rows", *FAST, "--start", start, "--max-rollouts", "26").stderr
        for start in ("branch", "worktree")
    ]
    assert [text.count("training the uncommitted text of rows") for text in said] == [0, 1]
