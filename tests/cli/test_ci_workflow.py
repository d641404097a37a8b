"""`skillopt init --ci github`: one pinned workflow, in which real checkers find nothing; a file that is there stays."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skillopt.commands.init import workflow_text
from tests.fakes.action_runner import ACTION, ROOT, read_yaml
from tests.fakes.projects import git, make_project, skillopt

pytestmark = pytest.mark.process

PLACE = Path(".github", "workflows", "skillopt.yml")
OWN = {
    "SECRETS": "of no provider",
    "ACTION": "$/.github/actions/skillopt",
    "AGENTS": '""',
    "FORGE": "none",
    "TARGET": "",
}
OWN_PATHS = ["**/SKILL.md", "benchmarks/suites/**", "plugin/skills/**", "skills/**", ".github/**", "skillopt.toml"]
STARTS = ("path", "label", "always")
SOURCE = f"acme/skillopt@{'ab' * 20}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    make_project(folder)
    config = folder / "skillopt.toml"
    config.write_text('harness = "claude-code"\nmodel = "openai/gpt-5"\n' + config.read_text().partition("\n\n")[2])
    git(folder, "commit", "--quiet", "-am", "Choose")
    return folder


def written(project: Path, *options: str) -> Any:  # noqa: ANN401 - as YAML gives it
    ended = skillopt(project, "init", "--ci", "github", "--action", SOURCE, "--json", *options)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["path"] == PLACE.as_posix()
    return read_yaml(project / PLACE)


def test_the_schema_and_the_checker_of_workflows_find_nothing(project: Path) -> None:
    files = [(project / PLACE).with_name(f"{start}.yml") for start in STARTS]
    for start, file in zip(STARTS, files, strict=True):
        if start == "always":
            (project / "skillopt.toml").unlink()  # so that the workflow names the target
        made = written(project, "--start", start)["jobs"]["gate"]["steps"][-1]["env"]
        assert ("SKILLOPT_HARNESS" in made) == (start == "always")
        (project / PLACE).rename(file)
    schema = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    zizmor = [str(Path(sys.executable).with_name("zizmor")), "--offline", "--quiet", "--no-progress"]
    for command in ([*schema, *map(str, files)], [*zizmor, "--persona", "pedantic", ".github"]):
        ended = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_only_the_workflow_is_written_and_one_that_is_there_stays(project: Path) -> None:
    ended = skillopt(project, "init", "--ci", "github", "--action", SOURCE)
    assert "gh secret set ANTHROPIC_API_KEY; gh secret set OPENAI_API_KEY" in ended.stdout
    assert git(project, "status", "--porcelain", "--untracked-files=all") == f"?? {PLACE.as_posix()}"
    (project / PLACE).write_text("mine\n")
    again = skillopt(project, "init", "--ci", "github", "--action", SOURCE)
    assert again.returncode == 2
    assert (project / PLACE).read_text() == "mine\n"


@pytest.mark.parametrize("action", ["acme/skillopt@main", "acme/skillopt", "x"])
def test_an_action_that_is_not_pinned_is_refused(project: Path, action: str) -> None:
    ended = skillopt(project, "init", "--ci", "github", "--action", action)
    assert ended.returncode == 2
    assert not (project / PLACE).exists()


def test_pull_requests_start_it_by_path_by_label_or_always(project: Path) -> None:
    found = {}
    for start in STARTS:
        found[start] = written(project, "--start", start)
        (project / PLACE).unlink()
    assert found["path"]["on"]["pull_request"]["paths"][0] == "**/SKILL.md"
    assert "skills/**" in found["path"]["on"]["push"]["paths"]
    assert found["label"]["on"]["pull_request"] == {"types": ["labeled"]}
    assert "github.event.label.name == 'skillopt'" in found["label"]["jobs"]["gate"]["if"]
    assert found["always"]["on"]["pull_request"] is None
    assert [("merge_group" in one["on"]) for one in found.values()] == [True, False, True]


def test_no_job_has_both_a_key_of_a_provider_and_a_right_to_write_to_the_repository(project: Path) -> None:
    loaded = written(project)
    assert loaded["permissions"] == {}
    for name, job in loaded["jobs"].items():
        keys = [step for step in job["steps"] if "ANTHROPIC_API_KEY" in step.get("env", {})]
        assert bool(keys) == (name in ("gate", "train"))
        assert not (keys and job["permissions"].get("contents") == "write")
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
            if SOURCE.partition("@")[0] in step.get("uses", ""):
                assert {*step["with"]} <= {*read_yaml(ACTION)["inputs"]}
    assert loaded["jobs"]["train"]["permissions"] == {"contents": "read"}
    (train,) = (step for step in loaded["jobs"]["train"]["steps"] if step["name"] == "Train")
    assert train["with"]["github-token"] == ""


def test_this_repository_runs_what_it_gives_others() -> None:
    assert (ROOT / PLACE).read_text(encoding="utf-8") == workflow_text("path", OWN_PATHS, OWN)
