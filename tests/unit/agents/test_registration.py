"""Registering the server with a client changes one entry, and undoing it leaves no trace."""

import json
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.agents.claude_code.registration import ClaudeServers
from skillopt.agents.codex.registration import CodexServers
from skillopt.agents.registration import Registered, find_approvals, register
from skillopt.errors import SettingsError
from tests.fakes.projects import git, skillopt

OTHER = '{\n\t"mcpServers": {\n\t\t"größe": {"command": "messen", "env": {"KEY": "secret-of-the-user"}}\n\t}\n}'
JSON_TEXTS = [
    "{}",
    "{}\n",
    "{\n}\n",
    '{"mcpServers": {}}',
    '{\n  "mcpServers": {}\n}',
    '{\n  "mcpServers": {}\n}\n',
    '{\n  "mcpServers": {\n  }\n}\n',
    '{"mcpServers":{"a":{"command":"b"}}}',
    '{"note": "hübsch", "mcpServers": {"a": {"args": ["}", "\\""]}}, "z": 1}\n\n',
    '{"note": {"mcpServers": {}}}',
    '{\r\n  "mcpServers": {\r\n    "a": {}\r\n  }\r\n}\r\n',
    '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}',
    OTHER,
]
TOML_TEXTS = [
    "",
    "\n",
    "# only a remark",
    "# only a remark\n",
    'model = "größer"   # aligned\n\n\n[mcp_servers]\n',
    '[mcp_servers.other]\ncommand = "x"',
    '[mcp_servers.other]\ncommand = "x"\n[mcp_servers.other.env]\nKEY = "secret-of-the-user"\n\n\n',
    'mcp_servers.other.command = "x"\n',
    'model = "m"\r\n\r\n[tui]\r\ntheme = "dark"\r\n',
    'note = """\n[mcp_servers.skillopt]\n"""\n',
]
ENTRY = {"type": "stdio", "command": "skillopt-mcp", "args": [], "alwaysLoad": True, "timeout": 600000}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, and a home of its own for each client."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "home" / ".codex"))
    (tmp_path / "home" / ".codex").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    git(tmp_path / "project", "init", "--quiet")
    return tmp_path / "project"


def config(project: Path) -> Path:
    return project.parent / "home" / ".codex" / "config.toml"


def files(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder but git's own, with its content."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts}


@pytest.mark.parametrize("text", [None, *JSON_TEXTS])
def test_a_json_file_gets_the_entry_and_is_restored_to_the_byte(text: str | None) -> None:
    added = ClaudeServers(text, "x").added()
    loaded = json.loads(added)
    assert loaded["mcpServers"].pop("skillopt") == ENTRY
    assert {"mcpServers": {}, **json.loads(text or "{}")} == loaded
    assert ClaudeServers(added, "x").removed() == text


@given(
    st.dictionaries(st.text() | st.just("mcpServers"), json_values),
    st.none() | st.dictionaries(st.text(), json_values),
    st.sampled_from([None, 0, 2, 4, "\t"]),
)
def test_any_json_is_restored(root: dict[str, object], servers: dict[str, object] | None, indent: str | int) -> None:
    root.pop("mcpServers", None)
    (servers or {}).pop("skillopt", None)
    text = json.dumps(root if servers is None else {**root, "mcpServers": servers}, indent=indent, ensure_ascii=False)
    assert ClaudeServers(ClaudeServers(text, "x").added(), "x").removed() == text


@pytest.mark.parametrize("text", [None, *TOML_TEXTS])
def test_a_toml_file_gets_the_table_and_is_restored_to_the_byte(text: str | None) -> None:
    added = CodexServers(text, "x").added()
    assert added.startswith(text or "")
    entry = tomllib.loads(added)["mcp_servers"]["skillopt"]
    assert (entry["command"], entry["tool_timeout_sec"]) == ("skillopt-mcp", 600)
    assert "approv" not in added.removeprefix(text or "")
    assert CodexServers(added, "x").removed() == text


@pytest.mark.parametrize("text", [None, *TOML_TEXTS])
def test_a_table_of_an_older_version_that_allowed_every_tool_is_mended_and_removed(text: str | None) -> None:
    added = CodexServers(text, "x").added()
    newline = "\r\n" if "\r\n" in added else "\n"
    old = CodexServers(f'{added}default_tools_approval_mode = "approve"{newline}', "x")
    assert old.outdated
    assert not old.ours
    assert old.mended() == added
    assert old.removed() == text


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ('default_tools_approval_mode = "approve"', 7),
        ('tool_timeout = 3\ndefault_tools_approval_mode = "approve"', 8),
        ('[mcp_servers.skillopt.tools.start_job]\napproval_mode = "approve"', 8),
        ('tools = { propose_edits = { approval_mode = "approve" } }', 7),
        ('default_tools_approval_mode = "prompt"', 0),
        ('[mcp_servers.skillopt.tools.list_skills]\napproval_mode = "approve"', 0),
        ('[mcp_servers.other]\ncommand = "x"\ndefault_tools_approval_mode = "approve"', 0),
    ],
)
def test_the_line_that_lets_tools_spend_without_a_question_is_found(more: str, line: int) -> None:
    text = f'model = "m"\n{CodexServers(None, "x").added()}{more}\n'
    assert CodexServers(text, "x").approval_line == line


def test_an_approval_of_0_1_0_in_an_entry_that_the_user_changed_stays_and_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = CodexServers(None, "x").added().replace("30.0", "90.0")
    config(project).write_text(f'{ours}default_tools_approval_mode = "approve"\n')
    told: list[Registered] = []
    before = files(project.parent)
    register("codex", announce=told.append, folder=project)
    assert files(project.parent) == before
    (change,) = told[0].changes
    assert (
        change.action,
        "; line 6 lets tools of skillopt spend without a question: take it out" in change.reason,
    ) == (
        "keep",
        True,
    )
    (warning,) = find_approvals(project)
    assert warning.startswith(f"{config(project)}:6 lets tools of skillopt spend without a question")
    monkeypatch.setenv("CODEX_HOME", str(project))
    assert find_approvals(project) == ()


def test_an_approval_that_the_user_set_is_the_users() -> None:
    text = CodexServers(None, "x").added() + 'default_tools_approval_mode = "prompt"\n'
    assert not CodexServers(text, "x").outdated


def test_what_came_after_the_table_stays() -> None:
    for before in (None, "", 'model = "m"', 'model = "m"\n'):
        later = CodexServers(before, "x").added() + "\n# mine\n[mcp_servers.later]\ncommand = 'x'\n"
        left = CodexServers(later, "x").removed()
        assert left is not None
        assert left.endswith("\n# mine\n[mcp_servers.later]\ncommand = 'x'\n")
        assert list(tomllib.loads(left)["mcp_servers"]) == ["later"]


@pytest.mark.parametrize("indent", [None, 2, 3])
@pytest.mark.parametrize("names", [["skillopt"], ["skillopt", "b"], ["a", "skillopt"], ["a", "skillopt", "b"]])
def test_an_entry_that_another_program_laid_out_anew_is_removed(names: list[str], indent: int | None) -> None:
    servers = {name: ENTRY if name == "skillopt" else {"command": name} for name in names}
    left = ClaudeServers(json.dumps({"mcpServers": servers, "z": 1}, indent=indent), "x").removed()
    assert left is not None
    others = {name: {"command": name} for name in names if name != "skillopt"}
    assert {"mcpServers": {}, **json.loads(left)} == {"mcpServers": others, "z": 1}


def test_a_table_that_lost_its_last_line_break_is_removed() -> None:
    added = CodexServers('model = "m"\n', "x").added()
    assert CodexServers(added.removesuffix("\n"), "x").removed() == 'model = "m"\n'


def test_a_table_that_was_laid_out_anew_is_left_for_the_user() -> None:
    added = CodexServers("", "config.toml").added().replace(" = ", "=")
    with pytest.raises(SettingsError, match=r"^config\.toml:2: expected .* run `codex mcp remove skillopt`"):
        CodexServers(added, "config.toml").removed()


@pytest.mark.parametrize(
    "text", ['model = "m"\nmcp_servers = {}\n', "\n[[mcp_servers]]\na = 1\n", "\nmcp_servers = 3\n"]
)
def test_servers_that_take_no_table_are_refused_with_their_line(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^config\.toml:2: expected mcp_servers as tables"):
        CodexServers(text, "config.toml").added()


def test_registering_tells_first_and_does_it_once(project: Path) -> None:
    first = skillopt(project, "init", "--client", "both", PATH=os.defpath)
    assert first.returncode == 0, first.stderr
    assert '+ "skillopt": {' in first.stdout
    assert "+ [mcp_servers.skillopt]" in first.stdout
    assert "from a clone of skillopt: pipx install PATH-OF-CLONE" in first.stdout
    assert json.loads((project / ".mcp.json").read_bytes()) == {"mcpServers": {"skillopt": ENTRY}}
    before = files(project.parent)
    again = skillopt(project, "init", "--client", "both")
    assert again.stdout.count("registered there already") == 2
    assert files(project.parent) == before
    assert skillopt(project, "init", "--client", "both", "--undo").returncode == 0
    assert files(project.parent) == {}
    assert skillopt(project, "init", "--client", "both", "--undo").stdout.count("not registered there") == 2


def test_nothing_but_the_named_clients_file_changes_and_undo_restores_it(project: Path) -> None:
    (project / ".mcp.json").write_text(OTHER, encoding="utf-8")
    config(project).write_text(TOML_TEXTS[6], encoding="utf-8")
    (project / "sub").mkdir()
    before = files(project.parent)
    for client, changed in (("claude-code", project / ".mcp.json"), ("codex", config(project))):
        done = skillopt(project / "sub", "init", "--client", client)
        assert done.returncode == 0, done.stderr
        assert "secret-of-the-user" not in done.stdout
        assert {path for path, content in files(project.parent).items() if before.get(path) != content} == {
            str(changed)
        }
        assert skillopt(project, "init", "--client", client, "--undo").returncode == 0
        assert files(project.parent) == before


def test_a_dry_run_tells_the_same_and_does_nothing(project: Path) -> None:
    told = json.loads(skillopt(project, "init", "--client", "both", "--dry-run", "--json").stdout)
    assert [(change["client"], change["action"]) for change in told["changes"]] == [
        ("claude-code", "add"),
        ("codex", "add"),
    ]
    assert files(project.parent) == {}


def test_an_entry_with_other_settings_is_the_users(project: Path) -> None:
    (project / ".mcp.json").write_text('{"mcpServers": {"skillopt": {"command": "mine"}}}')
    config(project).write_text('[mcp_servers.skillopt]\ncommand = "mine"\n')
    before = files(project.parent)
    for flags in ((), ("--undo",)):
        ended = skillopt(project, "init", "--client", "both", *flags)
        assert ended.returncode == 0
        assert ended.stdout.count("with other settings") == 2
        assert files(project.parent) == before


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{\n  "mcpServers": {,}\n}', r".mcp.json:2: expected JSON"),
        (b"", r".mcp.json:1: expected JSON"),
        (b"[]", r".mcp.json:1: expected a JSON object"),
        (b'{\n\n"mcpServers": []}', r".mcp.json:3: expected 'mcpServers' to be an object"),
        (b'{\n"note": "\xff"}', r".mcp.json:2: expected UTF-8, found the byte 0xff"),
    ],
)
def test_a_broken_file_is_refused_and_no_other_is_touched(project: Path, content: bytes, problem: str) -> None:
    (project / ".mcp.json").write_bytes(content)
    before = files(project.parent)
    ended = skillopt(project, "init", "--client", "both")
    assert ended.returncode == 2
    assert problem in ended.stderr
    assert "Traceback" not in ended.stderr
    assert files(project.parent) == before


def test_a_broken_config_of_codex_is_refused_before_claude_code_is_touched(project: Path) -> None:
    config(project).write_text('model = "m"\n[tui\n')
    ended = skillopt(project, "init", "--client", "both")
    assert ended.returncode == 2
    assert "config.toml:2: expected TOML" in ended.stderr
    assert not (project / ".mcp.json").exists()


def test_a_read_only_file_stays_as_it_is(project: Path) -> None:
    config(project).write_text("# mine\n")
    config(project).chmod(0o444)
    ended = skillopt(project, "init", "--client", "both")
    assert ended.returncode == 2
    assert "is read-only; make it writable" in ended.stderr
    assert config(project).read_text() == "# mine\n"
    assert not (project / ".mcp.json").exists()


def test_links_and_permissions_survive(project: Path) -> None:
    real = project.parent / "dotfiles.toml"
    real.write_text("# mine\n")
    real.chmod(0o600)
    config(project).symlink_to(real)
    assert skillopt(project, "init", "--client", "codex").returncode == 0
    assert config(project).is_symlink()
    assert "skillopt-mcp" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    assert skillopt(project, "init", "--client", "codex", "--undo").returncode == 0
    assert real.read_text() == "# mine\n"


def test_a_link_out_of_the_project_is_not_followed(project: Path) -> None:
    outside = project.parent / "outside.json"
    outside.write_text("{}")
    (project / ".mcp.json").symlink_to(outside)
    ended = skillopt(project, "init", "--client", "claude-code")
    assert ended.returncode == 2
    assert "found a link to" in ended.stderr
    assert outside.read_text() == "{}"


def test_a_folder_in_place_of_the_file_is_told(project: Path) -> None:
    (project / ".mcp.json").mkdir()
    ended = skillopt(project, "init", "--client", "claude-code")
    assert (ended.returncode, "cannot read" in ended.stderr) == (2, True)


def test_undo_without_a_client_says_what_is_missing(project: Path) -> None:
    ended = skillopt(project, "init", "--undo")
    assert ended.returncode == 2
    assert "add --client" in ended.stderr


def test_codex_keeps_its_config_in_the_home_folder_when_nothing_else_is_set(project: Path) -> None:
    ended = skillopt(project, "init", "--client", "codex", CODEX_HOME="")
    assert ended.returncode == 0, ended.stderr
    assert list(config(project).parent.iterdir()) == [config(project)]
