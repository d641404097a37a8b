"""`skillopt doctor` shows what it warns of, and says what to do where nothing is there yet."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.projects import git, make_project, skillopt, without_agents

pytestmark = pytest.mark.process

JUDGED = {"id": "t", "prompt": "Greet.", "verifier": {"kind": "rubric", "criteria": ["It is polite."]}}


def checks(folder: Path, **environment: str) -> dict[str, dict[str, Any]]:
    rows = json.loads(skillopt(folder, "doctor", "--json", **environment).stdout)["checks"]
    return {row["name"]: row for row in rows}


def test_warnings_are_shown_and_a_skill_that_clients_load_is_no_failure(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    document = project / "skills" / "rows" / "SKILL.md"
    document.write_text("# Rows\n\n" + "Trim spaces.\n" * 60_000)

    ended = skillopt(project, "doctor")

    assert ended.returncode == 0
    assert "trainable, with 2 errors, 3 warnings" in ended.stdout
    assert "SKILL.md:1: warning (claude-code): found" in ended.stdout
    warnings = checks(project)["skill rows"]["warnings"]
    assert any("error (specification): expected frontmatter" in line for line in warnings)


def test_the_line_that_registers_the_server_is_shown_for_each_client_on_the_path(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    path = without_agents(tmp_path)
    Path(path, "claude").symlink_to("/bin/true")

    row = checks(project, PATH=path)["clients"]

    assert "mcp add skillopt --" in row["found"]


def test_criteria_in_words_without_a_judge_name_the_line_to_add(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    tasks = [json.dumps({**JUDGED, "id": f"t{number}", "prompt": f"Greet {number}."}) for number in range(12)]
    (project / "suites" / "rows.jsonl").write_text("\n".join(tasks))

    said = " ".join(skillopt(project, "doctor", SKILLOPT_MODEL="openai/gpt-5").stdout.split())  # long lines are broken

    assert "warn judge rows: " in said
    assert ("12 of 12 tasks" in said, 'judge = "anthropic/claude-haiku-4-5"' in said) == (True, True)


@pytest.mark.parametrize("command", ["doctor", "init"])
def test_in_an_empty_folder_it_says_what_a_skill_is_and_sends_nobody_in_a_circle(tmp_path: Path, command: str) -> None:
    git(tmp_path, "init", "--quiet")

    said = skillopt(tmp_path, command).stdout

    assert "file SKILL.md" in said
    assert "next: skillopt doctor" not in said


def test_skills_without_a_table_are_counted_and_the_first_with_tasks_are_checked(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project / "skillopt.toml").unlink()
    (project / "plugins" / "bare").mkdir(parents=True)
    (project / "plugins" / "bare" / "SKILL.md").write_text("# Bare\n")

    found = checks(project)

    assert "1 with tasks, 0 in skillopt.toml" in found["skills"]["found"]
    assert "`skillopt init` writes it" in found["skills"]["warnings"][0]
    assert "skill rows" in found
    assert "skill bare" not in found


def test_a_chat_target_for_a_skill_that_names_scripts_is_a_warning(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    document = project / "skills" / "rows" / "SKILL.md"
    document.write_text(document.read_text() + "\nRun `python scripts/check.py`. Read references/terms.md.\n")

    rows = (checks(project, SKILLOPT_HARNESS=harness)["skill rows"] for harness in ("chat/openai/gpt-5", "demo"))

    assert [sum("scripts/check.py and 1 more" in line for line in row["warnings"]) for row in rows] == [1, 0]
    chat = {"SKILLOPT_HARNESS": "chat/openai-compatible/none", "SKILLOPT_BASE_URL": "http://127.0.0.1:1/v1"}
    assert (
        "scripts/check.py and 1 more"
        in skillopt(project, "evaluate", "rows", SKILLOPT_RETRY_SECONDS="0", **chat).stderr
    )


@pytest.mark.parametrize(
    ("line", "row", "words"),
    [
        ('harness = "no-such-agent"', "target rows", "no-such-agent"),
        ('harness = ""', "target and optimizer rows", "`skillopt init`"),
        ("workers = 0", "skill rows", "skillopt.toml: workers: "),
        ("= 1", "configuration", "skillopt.toml"),
    ],
)
def test_what_cannot_run_fails_in_a_row_of_its_own(tmp_path: Path, line: str, row: str, words: str) -> None:
    project = make_project(tmp_path / "project")
    config = project / "skillopt.toml"
    config.write_text(config.read_text().replace('harness = "demo"', line, 1))

    ended = skillopt(project, "doctor", "--json")

    found = {check["name"]: check for check in json.loads(ended.stdout)["checks"]}
    assert ended.returncode == 2
    assert words in found[row]["found"]


def test_whether_pull_requests_could_be_opened_is_said(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    with (project / "skillopt.toml").open("a") as config:
        config.write('\n[nightly]\nforge = "github"\n')
    github = {"GITHUB_TOKEN": "ghp_" + "d4" * 18, "GITHUB_REPOSITORY": "acme/skills"}
    assert not checks(project, **github)["forge"]["ok"]
    git(project, "remote", "add", "origin", "https://github.com/acme/skills.git")
    assert [checks(project, **given)["forge"]["ok"] for given in (github, {})] == [True, False]
