"""`skillopt gate` as a reviewer meets it: real git, real rollouts, several skills in one change."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.changes import GOOD, QUICK, RULES, commit, gate, make_change, write
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import SKILL, as_json, git, skillopt

pytestmark = pytest.mark.process


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_change(tmp_path / "project")


def rules(change: Any) -> dict[str, str]:  # noqa: ANN401 - as JSON gives it
    return {finding["rule"]: finding["weight"] for finding in change["findings"]}


def test_a_harmful_edit_is_refused_with_the_tasks_that_it_broke_and_a_rerun_is_free(project: Path) -> None:
    commit(project, SKILL)
    code, report = gate(project)
    assert code == 1
    (change,) = report["changes"]
    assert (change["skill"], change["kind"], change["standing"]) == ("rows", "modified", "refused")
    assert len(change["judged"]["verdict"]["broken"]) >= 5
    assert set(change["judged"]["verdict"]["broken"]) <= {f"val{number}" for number in range(8)}
    assert change["reason"].startswith("shown to be worse at confidence ")
    assert change["paid_rollouts"] == change["rollouts"] == 16
    assert report["spent"]["target"]["calls"] == 16
    code, again = gate(project)
    assert code == 1
    assert again["changes"][0] == change | {"paid_rollouts": 0}
    runs = json.loads(skillopt(project, "status", "--json").stdout)["runs"]
    assert [(run["run"], run["state"]) for run in runs] == [(change["run"], "finished")]


def test_nothing_is_run_or_written_where_no_skill_differs(project: Path) -> None:
    (project / "README").write_text("Other things.\n")
    fixture = project / "tests" / "fixtures" / "broken" / "SKILL.md"  # material of a test, no skill
    fixture.parent.mkdir(parents=True)
    fixture.write_text("No frontmatter.\n")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Other")
    ended = skillopt(project, "gate", "main")
    assert (ended.returncode, ended.stdout.splitlines()[0].rpartition(": ")[2]) == (0, "no skill differs")
    assert not (project / ".skillopt").exists()


def test_only_what_the_branch_itself_changed_counts_unless_asked_otherwise(project: Path) -> None:
    git(project, "checkout", "--quiet", "main")
    commit(project, GOOD + "- Said on main meanwhile.\n")
    git(project, "checkout", "--quiet", "change")
    assert gate(project)[1]["changes"] == []
    code, report = gate(project, "main", "HEAD", "--direct")
    assert code == 0
    assert [change["kind"] for change in report["changes"]] == ["modified"]


def test_a_renamed_folder_is_the_same_skill(project: Path) -> None:
    git(project, "mv", "skills/rows", "skills/lines")
    write(project, GOOD.replace("name: rows", "name: lines"), "lines")
    config = (project / "skillopt.toml").read_text()
    (project / "skillopt.toml").write_text(
        config.replace("skills.rows", "skills.lines").replace("skills/rows", "skills/lines")
    )
    git(project, "commit", "--quiet", "--all", "-m", "Rename")
    _, report = gate(project)  # at confidence .8 one in ten is refused by chance
    (change,) = report["changes"]
    assert (change["kind"], change["before_path"], change["path"]) == ("renamed", "skills/rows", "skills/lines")
    assert change["judged"]["verdict"]["ties"] >= 4


def test_a_new_skill_is_measured_against_no_skill_and_a_deleted_one_is_reported(project: Path) -> None:
    git(project, "rm", "--quiet", "-r", "skills/rows")
    cells = "---\nname: cells\ndescription: Cleans vendor tables, cell by cell.\n---\n# Cells\n\n## Each cell\n\n"
    write(project, f"{cells}{RULES}- Trim spaces around every value.\n", "cells")
    with (project / "skillopt.toml").open("a") as config:
        config.write('[skills.cells]\nsuite = "suites/rows.jsonl"\ngate = "paired"\n')
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Another")
    code, report = gate(project, "main", "HEAD", "--require", "better")
    assert code == 0, report
    assert [(change["skill"], change["kind"], change["standing"]) for change in report["changes"]] == [
        ("cells", "added", "passed"),
        ("rows", "deleted", "deleted"),
    ]
    assert report["changes"][0]["judged"]["verdict"]["wins"] >= 5


def test_what_no_reviewer_may_overlook_is_refused_unmeasured(project: Path) -> None:
    commit(project, GOOD + "- Be\u200bcareful.\n- The key is AKIAIOSFODNN7EXAMPLQ.\n- See https://example.com/x.\n")
    code, report = gate(project)
    assert code == 1
    (change,) = report["changes"]
    assert rules(change) == {"hidden-unicode": "refuse", "credential": "refuse", "url": "warn"}
    assert {finding["line"] for finding in change["findings"]} == {12, 13, 14}
    assert (change["judged"], change["rollouts"]) == (None, 0)
    assert "AKIAIOSFODNN7EXAMPLQ" not in json.dumps(report)


def test_a_change_cannot_allow_itself_what_is_always_refused_but_who_runs_the_command_can(project: Path) -> None:
    config = (project / "skillopt.toml").read_text()
    (project / "skillopt.toml").write_text(config + 'allow = ["hidden-unicode", "url"]\n')
    commit(project, GOOD + "- Be\u200bcareful, see https://example.com/x.\n")
    code, report = gate(project)
    assert code == 1
    assert rules(report["changes"][0]) == {"hidden-unicode": "refuse", "settings changed": "warn"}
    code, report = gate(project, "main", "HEAD", "--set", "allow=hidden-unicode,url")
    assert code == 0


def test_a_change_is_not_measured_by_an_agent_that_it_brings_itself(project: Path) -> None:
    config = project / "skillopt.toml"
    own = 'harness = "tiny"\nagents.tiny.command = ["{project}/always-right.sh"]'
    config.write_text(config.read_text().replace('harness = "demo"', f'sandbox = "none"\n{own}'))
    commit(project, GOOD + "- Keep dates.\n")
    code, report = gate(project)
    (change,) = report["changes"]
    assert (code, change["rollouts"]) == (1, 0)
    (found,) = [finding for finding in change["findings"] if finding["rule"] == "agent changed"]
    assert found["weight"] == "refuse"
    assert all(name in found["message"] for name in ("harness", "sandbox", "[agents.tiny]"))


def test_a_skill_without_a_suite_is_not_called_passed(project: Path) -> None:
    (project / "skillopt.toml").unlink()
    (project / "suites" / "rows.jsonl").unlink()
    commit(project, SKILL)
    code, report = gate(project)
    assert (code, report["changes"][0]["standing"]) == (0, "untestable")
    assert gate(project, "main", "HEAD", "--strict")[0] == 1


def read_suite(project: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project / "suites" / "rows.jsonl").read_text().splitlines()]


def write_suite(project: Path, tasks: list[dict[str, Any]]) -> None:
    (project / "suites" / "rows.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))


def only_untestable(project: Path, rule: str, *arguments: str) -> Any:  # noqa: ANN401 - as JSON gives it
    """Gate with a verdict that is neutral, and refused when strict, and give the change."""
    code, report = gate(project, "main", "HEAD", *arguments)
    (change,) = report["changes"]
    assert (code, change["standing"], change["rollouts"]) == (0, "untestable", 0)
    assert change["reason"].startswith("untestable: ")
    assert rules(change)[rule] == "warn"
    assert gate(project, "main", "HEAD", "--strict", *arguments)[0] == 1
    return change


def test_files_that_the_harness_does_not_use_are_read_and_not_called_measured(project: Path) -> None:
    references = project / "skills" / "rows" / "references"
    references.mkdir()
    (references / "dates.md").write_text("Dates are written as 2024-02-13, see https://example.com/dates.\n")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Say more")
    change = only_untestable(project, "not exercised")
    assert "files beside SKILL.md differ" in change["reason"]
    assert rules(change)["url"] == "warn"
    assert (change["first_path"], change["first_line"]) == ("skills/rows/references/dates.md", 1)
    (references / "dates.md").write_text("The key is AKIAIOSFODNN7EXAMPLQ.\n")
    git(project, "commit", "--quiet", "-am", "Say too much")
    code, report = gate(project)
    assert (code, rules(report["changes"][0])["credential"]) == (1, "refuse")


def test_without_a_judge_the_text_is_read_and_nothing_is_run(project: Path) -> None:
    git(project, "checkout", "--quiet", "main")
    tasks = read_suite(project)
    tasks[8]["verifier"] = {"kind": "rubric", "criteria": ["It is polite."]}
    write_suite(project, tasks)
    git(project, "commit", "--quiet", "-am", "Other tasks")
    git(project, "checkout", "--quiet", "-B", "change")
    commit(project, GOOD + "- See https://example.com/x.\n")
    assert rules(only_untestable(project, "no access"))["url"] == "warn"


def test_a_change_that_bends_the_suite_to_itself_is_shown_what_the_suite_of_the_base_says(project: Path) -> None:
    tasks = read_suite(project)
    for task in tasks:  # what the weak skill leaves as it is becomes the answer that is expected
        given = task["files"][0]["text"].replace(" ", "")
        task["verifier"]["files"][0]["text"] = given
    write_suite(project, tasks)
    commit(project, SKILL)
    code, report = gate(project)
    (change,) = report["changes"]
    assert change["base_measurement"]["standing"] == "refused"
    assert len(change["base_measurement"]["judged"]["verdict"]["broken"]) >= 5
    assert change["standing"] != "refused"
    assert code == 0
    assert rules(change) == {"removed-rule": "note", "suite changed": "warn", "suites disagree": "warn"}
    (marked,) = [finding for finding in change["findings"] if finding["rule"] == "suites disagree"]
    assert marked["message"].startswith("the base's suite says")
    assert change["rollouts"] >= 32
    assert gate(project, "main", "HEAD", "--strict")[0] == 1


def test_a_shallow_clone_says_what_to_fetch(project: Path, tmp_path: Path) -> None:
    commit(project, SKILL)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", "--branch=change", f"file://{project}", str(shallow))
    ended = skillopt(shallow, "gate", "origin/main")
    assert ended.returncode == 2
    assert "git fetch --unshallow" in ended.stderr
    git(shallow, "fetch", "--quiet", "--depth=1", "origin", "main:refs/remotes/origin/main")
    ended = skillopt(shallow, "gate", "origin/main")
    assert "fetch-depth: 0" in ended.stderr
    assert "--direct" in ended.stderr
    assert gate(shallow, "origin/main", "HEAD", "--direct")[0] == 1
    git(shallow, "fetch", "--quiet", "--unshallow")
    assert gate(shallow, "origin/main")[0] == 1


@pytest.fixture
def gated(tmp_path: Path) -> Nights:
    """Return a project with one run: a gate of a change on a branch."""
    nights = make_nights(tmp_path)
    git(nights.folder, "checkout", "--quiet", "-b", "change")
    write(nights.folder, GOOD)
    git(nights.folder, "commit", "--quiet", "-am", "Change")
    ended = skillopt(nights.folder, "gate", "main", *QUICK, "--quiet")
    assert "1 passed" in ended.stdout, ended.stderr
    git(nights.folder, "checkout", "--quiet", "main")
    return nights


def test_a_gate_has_no_report_leaves_the_skill_due_and_is_not_taken_for_its_training(gated: Nights) -> None:
    run = as_json(gated.folder, "status")["runs"][0]["run"]
    ended = skillopt(gated.folder, "report", run)
    assert (ended.returncode, "no runs yet" in skillopt(gated.folder, "report").stderr) == (2, True)
    assert f"`skillopt gate {git(gated.folder, 'rev-parse', 'main')}`" in ended.stderr
    row = gated.run()["rows"]
    assert (row["cause"], row["training"]) == ("it was never trained", "finished")
    git(gated.folder, "checkout", "--quiet", "change")
    assert skillopt(gated.folder, "gate", "main", *QUICK, "--quiet", "--set", "seed=5").returncode == 0
    assert {as_json(gated.folder, "report", *name)["run"] for name in ((), ("rows",))} == {row["run"]}


def test_a_record_is_made_once(tmp_path: Path) -> None:
    nights = make_nights(tmp_path)
    first, again = (nights.run("--record", "only")["rows"] for _ in range(2))
    assert (first["recorded"].partition(":")[0], first["versions"]) == ("record", 0)
    assert (again["rollouts"], again["recorded"]) == (0, "")
