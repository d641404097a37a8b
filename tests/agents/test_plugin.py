"""The plugin and the registration, in the real clients with homes of their own, with the real server on the PATH."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.sessions import client_variables
from tests.fakes.mcp_clients import install_server
from tests.fakes.projects import git
from tools.fake_providers.fake_anthropic import fake_anthropic

pytestmark = pytest.mark.agents

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("evaluate", "optimize", "review")
Client = Callable[..., str]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, a marketplace, and empty homes; the server is on the PATH."""
    install_server(tmp_path / "programs" / "skillopt-mcp")
    for name in (".claude-plugin", "plugin"):
        shutil.copytree(ROOT / name, tmp_path / "market" / name)
    (tmp_path / "home" / ".codex").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    git(tmp_path / "project", "init", "--quiet")
    for name, value in {**client_variables(tmp_path, "http://127.0.0.1:9"), "IS_SANDBOX": "1"}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def claude(agent: Callable[[str], str], place: Path) -> Client:
    return client(agent("claude"), place)


@pytest.fixture
def codex(agent: Callable[[str], str], place: Path) -> Client:
    return client(agent("codex"), place)


def client(program: str, place: Path) -> Client:
    return lambda *arguments: done([program, *arguments], place / "project")


def done(command: list[str], where: Path) -> str:
    ended = subprocess.run(
        command, cwd=where, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def cached(place: Path, home: str) -> Path:
    """Return the copy of the plugin in a client's cache, and take the original away."""
    shutil.rmtree(place / "market")
    (manifest,) = (place / "home" / home / "plugins" / "cache").rglob(".claude-plugin/plugin.json")
    return manifest.parent.parent


def readme_lines(client: str) -> list[str]:
    """Return the lines of the README's shell blocks that start with a client's name; there is nothing else but pipx."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)).splitlines()
    known = ("#", "pipx install .", "claude ", "codex ")
    assert [line for line in lines if line and not line.startswith(known)] == []
    return [line for line in lines if line.startswith(f"{client} ")]


@pytest.mark.parametrize("given", [(".",), ("plugin", "--profile", "directory")])
def test_plugin_and_marketplace_pass_the_strict_validation(claude: Client, given: tuple[str, ...]) -> None:
    part, *profile = given
    assert "Validation passed" in claude("plugin", "validate", "--strict", *profile, str(ROOT / part))


def test_claude_code_offers_all_of_it_from_its_cache(claude: Client, place: Path) -> None:
    claude("plugin", "marketplace", "add", str(place / "market"))
    claude("plugin", "install", "skillopt@skillopt")
    kept = shutil.copytree(cached(place, ".claude"), place / "kept")
    shutil.rmtree(place / "home")
    flags = ("--plugin-dir", str(kept), "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose")
    with fake_anthropic() as provider, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_BASE_URL", provider.url)
        told = json.loads(claude("-p", "/skillopt:review rows", *flags).splitlines()[0])
        asked = json.dumps([asked.body for asked in provider.requests])
    assert {f"skillopt:{name}" for name in COMMANDS} <= set(told["slash_commands"])
    assert "skillopt:optimize-skill" in told["skills"]
    assert ("mcp__plugin_skillopt_skillopt__list_skills" in asked, "ARGUMENTS: rows" in asked) == (True, True)


def test_codex_offers_all_of_it_from_its_cache(codex: Client, place: Path) -> None:
    codex("plugin", "marketplace", "add", str(place / "market"))
    codex("plugin", "add", "skillopt@skillopt")
    assert len(list(cached(place, ".codex").rglob("*.*"))) < 30
    registered = json.loads(codex("mcp", "get", "skillopt", "--json"))
    assert (registered["transport"]["command"], registered["tool_timeout_sec"]) == ("sh", 600)
    listed = codex("debug", "prompt-input", "hello")
    assert all(f"{name}/SKILL.md" in listed for name in ("optimize-skill", *(f"source-command-{n}" for n in COMMANDS)))


def typed(place: Path, program: str, line: str) -> None:
    """Type a line of the README, in the clone when it is about the plugin."""
    (place / "programs" / line.split(maxsplit=1)[0]).symlink_to(program)
    done(["sh", "-c", line], place / ("market" if "marketplace" in line else "project"))


CLAUDE_LINES, CODEX_LINES = readme_lines("claude"), readme_lines("codex")


def test_the_readme_registers_by_two_lines_for_each_client_or_the_plugin() -> None:
    assert [line.split()[1] for lines in (CLAUDE_LINES, CODEX_LINES) for line in lines] == ["mcp", "plugin"] * 2
    page = (ROOT / "docs" / "in-your-agent.md").read_text(encoding="utf-8").splitlines()
    assert {line for line in (*CLAUDE_LINES, *CODEX_LINES) if "marketplace" in line} <= set(page)


@pytest.mark.parametrize("line", CLAUDE_LINES)
def test_after_the_readmes_line_claude_code_is_connected(
    claude: Client, agent: Callable[[str], str], place: Path, line: str
) -> None:
    typed(place, agent("claude"), line)
    assert re.search(r"skillopt: (skillopt-mcp|python3 .*launch\.py) +- ✔ Connected", claude("mcp", "list"))


@pytest.mark.parametrize("line", CODEX_LINES)
def test_after_its_line_codex_has_the_server(
    codex: Client, agent: Callable[[str], str], place: Path, line: str
) -> None:
    typed(place, agent("codex"), line)
    (listed,) = json.loads(codex("mcp", "list", "--json"))
    command = "skillopt-mcp" if "mcp add" in line else "sh"
    assert (listed["name"], listed["enabled"], listed["transport"]["command"]) == ("skillopt", True, command)
