"""The page on any agent: its table and its agent work as they stand there."""

import json
import re
from pathlib import Path

import pytest

from tests.fakes.projects import as_json, git, make_project, skillopt

pytestmark = pytest.mark.process

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents-and-sandbox.md"
RULE = "- Write e-mail addresses in lower case.\n"


def block(language: str) -> str:
    section = PAGE.read_text(encoding="utf-8").partition("\n## Any agent with a command line\n")[2]
    found = re.search(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose tasks need e-mail addresses in lower case, with the table and the agent of the page."""
    folder = make_project(tmp_path / "project", tasks=3)
    skill = (folder / "skillopt.toml").read_text().partition("[skills.")[2]
    (folder / "skillopt.toml").write_text(f'model = "demo"\n{block("toml")}\n[skills.{skill}')
    (folder / "tools").mkdir()
    (folder / "tools" / "tiny-agent.sh").write_text(block("sh"))
    (folder / "tools" / "tiny-agent.sh").chmod(0o755)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Describe an agent")
    monkeypatch.setenv("TINY_KEY", "key-of-nobody")
    monkeypatch.setenv("SKILLOPT_ALLOW_AGENTS", "tiny")
    return folder


def test_the_table_has_nine_lines() -> None:
    assert len([line for line in block("toml").splitlines() if line]) == 9


def test_doctor_and_estimate_know_such_an_agent(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {row["name"]: row for row in json.loads(skillopt(project, "doctor", "--json").stdout)["checks"]}
    assert rows["target rows"]["found"].startswith("tiny files=")
    assert rows["target rows login"]["found"] == "credential from TINY_KEY; gives TINY_KEY to api.tiny.example"
    assert as_json(project, "estimate", "rows")["harness"] == "tiny/small"
    assert "\nkeys: gives TINY_KEY to api.tiny.example\n" in skillopt(project, "estimate", "rows").stdout
    monkeypatch.delenv("TINY_KEY")
    rows = {row["name"]: row for row in json.loads(skillopt(project, "doctor", "--json").stdout)["checks"]}
    assert (rows["target rows login"]["ok"], rows["target rows login"]["found"]) == (
        False,
        "expected a key in TINY_KEY, found none; set it",
    )


def test_it_does_what_the_skill_says_and_only_what_changed_is_measured_again(project: Path) -> None:
    def measured() -> tuple[int, int]:
        """Return how many tasks passed, and how many rollouts that took."""
        found = as_json(project, "evaluate", "rows", "--split", "val", "--of", "worktree")
        return round(3 * found["subjects"][0]["tally"]["passed"]), found["paid_rollouts"]

    assert measured() == (0, 3)
    document = project / "skills" / "rows" / "SKILL.md"
    document.write_text(document.read_text() + RULE)
    assert measured() == (1, 3)
    assert measured() == (1, 0)
    agent = project / "tools" / "tiny-agent.sh"
    agent.write_text(agent.read_text().replace("tr -d", "cat; true tr -d"))
    assert measured() == (0, 3)
