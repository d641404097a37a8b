"""Nobody runs the command of a cloned repository's table before a person agreed to it."""

from pathlib import Path

import pytest

from skillopt.agent_table import ALLOWED_AGENTS, SHIPPED, AgentTable
from skillopt.errors import SettingsError
from skillopt.execution.drivers import load_target
from skillopt.project import Project
from skillopt.targets.command_line.agreement import AgentTerms, expect_agreement

TABLE = AgentTable(command=("tiny",), keys=("TINY_KEY",), url=("https://api.tiny.example",))


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(ALLOWED_AGENTS, raising=False)
    return tmp_path / "state"


def test_a_yes_holds_for_this_table_this_sandbox_and_this_project_only(tmp_path: Path) -> None:
    terms = AgentTerms("tiny", TABLE, tmp_path, "auto")
    with pytest.raises(SettingsError, match=r"TINY_KEY.*`skillopt doctor`"):
        expect_agreement(terms)
    terms.agree()
    expect_agreement(terms)
    changed = TABLE.model_copy(update={"command": ("tiny", "--more")})
    for other in (
        AgentTerms("tiny", changed, tmp_path, "auto"),
        AgentTerms("tiny", TABLE, tmp_path, "none"),
        AgentTerms("tiny", TABLE, tmp_path / "elsewhere", "auto"),
    ):
        assert not other.agreed


def test_a_yes_holds_for_the_files_of_the_project_that_the_table_names_as_they_were(tmp_path: Path) -> None:
    table = AgentTable(command=("python3", "{project}/tools/agent.py"), environment={"RULES": "{project}/rules.txt"})
    (tmp_path / "tools").mkdir()
    script, rules = tmp_path / "tools" / "agent.py", tmp_path / "rules.txt"
    script.write_text("print(1)\n")
    rules.write_text("be kind\n")
    terms = AgentTerms("tiny", table, tmp_path, "auto")
    assert "tools/agent.py, rules.txt as they" in terms.words
    terms.agree()
    expect_agreement(terms)

    for file, text in ((script, "import os\n"), (rules, "be quick\n")):
        before = file.read_text()
        file.write_text(text)
        with pytest.raises(SettingsError, match="expected that somebody agreed"):
            expect_agreement(terms)
        file.write_text(before)
        expect_agreement(terms)


def test_a_shipped_table_needs_no_yes_unless_it_was_changed(tmp_path: Path) -> None:
    assert AgentTerms("gemini", SHIPPED["gemini"], tmp_path, "auto").agreed
    assert not AgentTerms("gemini", TABLE, tmp_path, "auto").agreed


def test_whoever_starts_the_program_may_name_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED_AGENTS, "other, tiny")
    assert AgentTerms("tiny", TABLE, tmp_path, "none").agreed
    assert Project.find(tmp_path).settings().agents == {}


@pytest.mark.parametrize(("name", "place"), [("claude-code", ""), ("codex", "[skills.rows]\n")])
def test_a_cloned_repository_takes_no_agent_out_of_its_sandbox_unasked(tmp_path: Path, name: str, place: str) -> None:
    (tmp_path / "skillopt.toml").write_text(f'harness = "{name}"\n{place}sandbox = "none"\n')
    settings = Project.find(tmp_path).settings({"sandbox": "none"})
    with pytest.raises(SettingsError, match=f"{name} without a sandbox"):
        load_target(settings, tmp_path)
    AgentTerms(name, None, tmp_path, "none").agree()
    expect_agreement(AgentTerms(name, None, tmp_path, "none"))
    assert load_target(settings, tmp_path) is not None


def test_who_chooses_no_sandbox_by_a_flag_or_a_variable_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "skillopt.toml").write_text('harness = "codex"\n')
    assert load_target(Project.find(tmp_path).settings({"sandbox": "none"}), tmp_path) is not None


def test_what_was_kept_and_cannot_be_read_is_no_yes(tmp_path: Path, state: Path) -> None:
    (state / "skillopt").mkdir(parents=True)
    for text in ("[]", "{", '{"x": 1}', "\0"):
        (state / "skillopt" / "agreed-agents.json").write_text(text)
        assert not AgentTerms("tiny", TABLE, tmp_path, "auto").agreed


def test_the_table_of_a_cloned_repository_is_not_run_and_cannot_agree_to_itself(tmp_path: Path) -> None:
    config = tmp_path / "skillopt.toml"
    config.write_text(f'harness = "tiny"\nsandbox = "none"\n[agents.tiny]\ncommand = ["touch", "{tmp_path}/ran"]\n')
    with pytest.raises(SettingsError, match="expected that somebody agreed"):
        load_target(Project.find(tmp_path).settings(), tmp_path)
    config.write_text(f'allow_agents = ["tiny"]\n{config.read_text()}')
    with pytest.raises(SettingsError, match="allow_agents"):
        Project.find(tmp_path).settings()
    assert not (tmp_path / "ran").exists()
