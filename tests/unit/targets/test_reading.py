"""A table of an agent that is wrong is told with its field, what was expected, and the nearest known name."""

import tomllib
from pathlib import Path

import pytest

from skillopt.agent_table import RESERVED, SHIPPED, AgentTable, read_agent_tables
from skillopt.errors import SettingsError
from skillopt.project import Project
from skillopt.targets.drivers import HARNESSES, MODELS

HEAD = 'harness = "my-agent"\n\n[agents.my-agent]\n'


def read(text: str) -> dict[str, AgentTable]:
    return read_agent_tables(tomllib.loads(text)["agents"], "skillopt.toml")


COMMAND = 'command = ["a"]\n'


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('skills = ".my/skills"', "expected the field 'command', found none"),
        (f'{COMMAND}skils = ".x"', "unknown field 'skils'; did you mean 'skills'?"),
        (f'{COMMAND}answer = {{ wen = {{ type = "x" }}, text = "y" }}', "field 'answer.wen'; did you mean 'when'?"),
        ('command = "my-agent run"', "command: expected a list, as"),
        ("command = []", "command: expected a list of 1"),
        ('command = ["a", "{promt}"]', "placeholder '{promt}'; did you mean '{prompt}'?"),
        (f'{COMMAND}skills = "../up"', "found '../up'"),
        (f'{COMMAND}keys = ["sk-123"]', "keys: expected the name"),
        (f'{COMMAND}url = ["https://me:secret@x.example"]', "url: expected an address"),
        (f'{COMMAND}error = {{ text = "x" }}', "expected answer beside error"),
        (f'{COMMAND}answer = {{ text = "a..b" }}', "found 'a..b'"),
        (f"{COMMAND}turns = 5", "expected {turns} in its"),
        ('command = ["a", "--config={project}/../../x"]', "found '{project}/../../x'"),
        ('command = ["a", "{turns}"]', "at least 1, found 0"),
        (f'{COMMAND}answer = {{ text = "a" }}\nresult = {{ id = "i", text = "t" }}', "expected tool with an"),
    ],
)
def test_a_mistake_is_told_with_its_field(lines: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(f"{HEAD}{lines}\n")
    assert str(caught.value).startswith("skillopt.toml: [agents.my-agent] ")
    assert told in str(caught.value)


@pytest.mark.parametrize("name", [*HARNESSES, *(name for name in MODELS if name not in HARNESSES)])
def test_a_name_that_is_built_in_is_refused(name: str) -> None:
    assert name in RESERVED
    with pytest.raises(SettingsError, match="built in; choose another"):
        read(f'\n[agents.{name}]\ncommand = ["a"]\n')


@pytest.mark.parametrize("text", ['agents = "x"', "[agents]\nmy-agent = 3"])
def test_what_is_no_table_is_told_as_such(text: str) -> None:
    with pytest.raises(SettingsError, match=r"skillopt.toml: expected \[agents.NAME\] tables"):
        read(text)


@pytest.mark.parametrize("name", SHIPPED)
def test_an_own_table_of_a_shipped_agent_changes_only_what_it_names(name: str) -> None:
    own = read(f'[agents.{name}]\nurl = ["http://127.0.0.1:1/v1"]\nenvironment = {{ MORE = "1" }}\n')[name]
    shipped = SHIPPED[name]
    assert own.url == ("http://127.0.0.1:1/v1",)
    assert own.environment == {**shipped.environment, "MORE": "1"}
    assert own.model_copy(update={"url": shipped.url, "environment": shipped.environment}) == shipped


def test_the_tables_of_a_project_are_part_of_its_settings_and_not_of_their_identity(tmp_path: Path) -> None:
    (tmp_path / "skillopt.toml").write_text('harness = "my-agent"\n')
    plain = Project.read(tmp_path).settings()
    (tmp_path / "skillopt.toml").write_text(f'{HEAD}command = ["a"]\n')
    settings = Project.read(tmp_path).settings()
    assert settings.agents["my-agent"].command == ("a",)
    assert settings.identity == plain.identity


@pytest.mark.parametrize("name", ["PATH", "HOME", "LD_PRELOAD", "BASH_ENV", "PYTHONPATH", "NODE_OPTIONS", "GCONV_PATH"])
@pytest.mark.parametrize("field", ['environment = { NAME = "x" }', 'keys = ["NAME"]'])
def test_no_table_sets_by_what_programs_find_or_load_others(name: str, field: str) -> None:
    with pytest.raises(SettingsError, match="variable of the agent's"):
        read(f'{HEAD}command = ["a"]\n{field.replace("NAME", name)}')


@pytest.mark.parametrize("name", ["GITHUB_PERSONAL_ACCESS_TOKEN", "GH_OTHER", "NPM_TOKEN", "SSH_AUTH_SOCK"])
def test_no_table_gets_what_opens_a_forge(name: str) -> None:
    with pytest.raises(SettingsError, match="token of a forge"):
        read(f'{HEAD}command = ["a"]\nkeys = ["{name}"]')


@pytest.mark.parametrize("path", ["config", "task.txt", "prompt.txt", "net/0", "hosts", "tmp"])
def test_no_file_of_a_table_takes_the_place_of_one_of_ours(path: str) -> None:
    with pytest.raises(SettingsError, match="expected another name"):
        read(f'{HEAD}command = ["a"]\nfiles = {{ "{path}" = "x" }}')
