"""A skill whose folder was renamed keeps its versions, its draft, its runs and its table."""

import json
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.project import Project, Selection
from skillopt.storage.ledger import Ledger
from skillopt.tasks import File
from skillopt.versions.draft_branch import DraftBranch
from skillopt.versions.repository import NewVersion, Repository
from tests.fakes.projects import SKILL, Trained, git, make_project, skillopt

pytestmark = pytest.mark.process


def renamed_folder(project: Path) -> None:
    """Rename the skill's folder and its name, as a person does."""
    git(project, "mv", "skills/rows", "skills/lines")
    document = project / "skills" / "lines" / "SKILL.md"
    document.write_text(document.read_text().replace("name: rows", "name: lines"))
    git(project, "commit", "-qam", "Rename the skill")


def draft_of(project: Path) -> DraftBranch:
    repository = Repository.find(project)
    return DraftBranch(repository, "rows", "skills/rows")


def with_draft(project: Path) -> str:
    repository = Repository.find(project)
    tip = repository.branch_tip("rows") or repository.head() or ""
    new = NewVersion(
        skill="rows",
        path="skills/rows",
        files=(File("SKILL.md", f"{SKILL}- Sort.\n".encode()),),
        subject="rows: draft, sort",
        body="",
        trailers=(("Skill", "rows"), ("Grade", "unproven")),
        at="2026-01-02T03:04:05+00:00",
        parent=tip,
        expected_tip=None,
    )
    return draft_of(project).publish(new)


def test_versions_runs_and_table_of_a_trained_skill_have_its_new_name(trained: Trained) -> None:
    project, _ = trained
    renamed_folder(project)
    before = json.loads(skillopt(project, "log", "rows", "--json").stdout)["versions"]

    ended = skillopt(project, "rename", "rows", "lines", "--json")

    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {
        "old": "rows",
        "new": "lines",
        "branch": "skillopt/lines",
        "draft": "",
        "descriptions": "",
        "runs": 1,
        "table": True,
    }
    after = json.loads(skillopt(project, "log", "lines", "--json").stdout)["versions"]
    assert [version["sha"] for version in after[1:]] == [version["sha"] for version in before]
    assert after[0]["kind"] == "renamed"
    assert git(project, "branch", "--list", "skillopt/rows") == ""
    assert git(project, "ls-tree", "-r", "--name-only", "skillopt/lines", "skills").split() == ["skills/lines/SKILL.md"]
    config = tomllib.loads((project / "skillopt.toml").read_text())
    assert config["skills"]["lines"]["path"] == "skills/lines"
    with closing(Ledger.open(project)) as ledger:
        assert {(run.skill, run.skill_path) for run in ledger.runs()} == {("lines", "skills/lines")}


def test_old_versions_are_read_where_they_lay_then(trained: Trained) -> None:
    project, result = trained
    version = result["versions"][0]["commit"] if isinstance(result["versions"][0], dict) else result["versions"][0]
    renamed_folder(project)
    assert skillopt(project, "rename", "rows", "skills/lines").returncode == 0

    assert skillopt(project, "diff", "lines").stdout
    assert skillopt(project, "show", version).stdout
    assert skillopt(project, "blame", "lines").returncode == 0
    rolled = skillopt(project, "rollback", "lines", f"{version}~1", "--json")
    assert rolled.returncode == 0, rolled.stderr
    text = git(project, "show", "skillopt/lines:skills/lines/SKILL.md")
    assert text == git(project, "show", f"{version}~1:skills/rows/SKILL.md")


def test_a_draft_is_still_training_s_own_under_the_new_name(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    with_draft(project)
    renamed_folder(project)

    said = skillopt(project, "rename", "rows", "lines").stdout

    assert "branch skillopt-draft/lines" in said
    branch = DraftBranch(Repository.find(project), "lines", "skills/lines")
    draft = branch.read()
    assert draft is not None
    assert branch.is_ours(draft.sha)
    assert (draft.subject, draft.trailer("Grade")) == ("lines: draft, sort", "unproven")
    assert draft_of(project).tip is None


def test_doctor_names_the_command_for_a_renamed_folder(trained: Trained) -> None:
    project, _ = trained
    renamed_folder(project)

    said = skillopt(project, "doctor").stdout

    assert "warn branches: 1 without a skill" in said
    assert "`skillopt rename rows lines` keeps its history" in said


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("rows", "lines"), "run `git mv skills/rows NEW-FOLDER` first"),
        (("nothing", "rows"), "found nothing of 'nothing'"),
    ],
)
def test_what_is_no_renamed_skill_is_refused_and_nothing_moves(
    trained: Trained, arguments: tuple[str, str], problem: str
) -> None:
    project, _ = trained
    before = git(project, "for-each-ref")

    ended = skillopt(project, "rename", *arguments)

    assert (ended.returncode, problem in ended.stderr) == (2, True)
    assert git(project, "for-each-ref") == before


def test_a_name_that_has_a_history_already_is_refused(trained: Trained) -> None:
    project, _ = trained
    renamed_folder(project)
    git(project, "branch", "skillopt/lines", "main")

    ended = skillopt(project, "rename", "rows", "lines")

    assert (ended.returncode, "found branch skillopt/lines" in ended.stderr) == (2, True)


def test_a_draft_that_a_person_changed_stops_it_before_anything_moves(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    tip = with_draft(project)
    tree = git(project, "rev-parse", f"{tip}^{{tree}}")
    amended = git(project, "commit-tree", "-p", tip, "-m", "mine", tree)
    git(project, "update-ref", "refs/heads/skillopt-draft/rows", amended)
    renamed_folder(project)

    ended = skillopt(project, "rename", "rows", "lines")

    assert (ended.returncode, "has commits of people" in ended.stderr) != (0, False)
    assert draft_of(project).tip == amended


def test_a_renamed_skill_is_trained_on_from_its_newest_version(trained: Trained) -> None:
    project, _ = trained
    renamed_folder(project)
    assert skillopt(project, "rename", "rows", "lines").returncode == 0
    newest = git(project, "rev-parse", "skillopt/lines")
    target = Project.find(project).target(Selection("lines", folder=project))

    assert target.name == "lines"
    versions = Repository.find(project).versions("lines")
    assert (versions[0].sha, len(versions) > 1) == (newest, True)


@pytest.mark.parametrize("branch", ["skillopt/rows", "skillopt-draft/rows"])
def test_a_branch_that_is_checked_out_stops_it_before_anything_moves(
    trained: Trained, tmp_path: Path, branch: str
) -> None:
    project, _ = trained
    with_draft(project)
    renamed_folder(project)
    git(project, "worktree", "add", "--quiet", str(tmp_path / "other"), branch)
    before = git(project, "for-each-ref")

    ended = skillopt(project, "rename", "rows", "lines")

    assert ended.returncode != 0
    assert f"expected branch {branch} free to move, found it checked out in {tmp_path / 'other'}" in ended.stderr
    assert git(project, "for-each-ref") == before
    git(project, "worktree", "remove", str(tmp_path / "other"))
    assert skillopt(project, "rename", "rows", "lines").returncode == 0


def rows_of(project: Path) -> str:
    return git(project, "for-each-ref", "--format=%(refname)", "refs/heads/skillopt", "refs/heads/skillopt-draft")


@pytest.mark.parametrize("left", [("skillopt", "skillopt-draft"), ("skillopt-draft",), ()])
def test_one_that_was_ended_half_way_is_finished_by_the_same_command(trained: Trained, left: tuple[str, ...]) -> None:
    project, _ = trained
    with_draft(project)
    renamed_folder(project)
    old = {name: git(project, "rev-parse", f"{name}/rows") for name in left}
    table = (project / "skillopt.toml").read_text()
    assert skillopt(project, "rename", "rows", "lines").returncode == 0
    done, version = rows_of(project), git(project, "rev-parse", "skillopt/lines")
    for name, tip in old.items():
        git(project, "update-ref", f"refs/heads/{name}/rows", tip)
    (project / "skillopt.toml").write_text(table)
    with closing(Ledger.open(project)) as ledger:
        ledger.rename_skill("lines", "rows", "skills/rows")

    ended = skillopt(project, "rename", "rows", "lines", "--json")

    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert (said["branch"], said["runs"], said["table"]) == ("skillopt/lines", 1, True)
    assert (rows_of(project), git(project, "rev-parse", "skillopt/lines")) == (done, version)


def test_a_draft_that_the_new_name_has_already_is_not_replaced(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    with_draft(project)
    renamed_folder(project)
    git(project, "branch", "skillopt-draft/lines", "main")

    ended = skillopt(project, "rename", "rows", "lines")

    assert (ended.returncode, "found branch skillopt-draft/lines" in ended.stderr) == (2, True)
