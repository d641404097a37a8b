"""The plugin's files agree with each other and with the package."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from skillopt import __version__
from skillopt.agent_table import SHIPPED
from skillopt.skills.folder import read_skill
from skillopt.skills.validation import validate
from skillopt_mcp.tools import TOOLS as OFFERED
from tests.agents.sessions import WAIT, WAYS

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugin"
SKILL = PLUGIN / "skills" / "optimize-skill"
TOOLS = tuple(offer.name for offer in OFFERED)


def read(path: str) -> Any:  # noqa: ANN401 - a JSON document
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def test_every_manifest_has_the_packages_version_and_licence() -> None:
    claude, codex, server = (
        read(name) for name in ("plugin/.claude-plugin/plugin.json", "plugin/.codex-plugin/plugin.json", "server.json")
    )
    assert {claude["version"], codex["version"], server["version"], server["packages"][0]["version"]} == {__version__}
    hosts = claude.pop("network")["hosts"]
    assert {key: codex[key] for key in claude} == claude
    assert {urlsplit(url).hostname for table in SHIPPED.values() for url in table.url} < set(hosts)
    assert (PLUGIN / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_plugin_lets_the_agent_wait_for_a_job_and_allows_no_tool_that_spends() -> None:
    claude, codex = (read(path)["mcpServers"]["skillopt"] for path in ("plugin/.mcp.json", "plugin/codex.mcp.json"))
    assert (claude["alwaysLoad"], claude["timeout"], codex["tool_timeout_sec"]) == (True, 600_000, 600)
    assert {key for key in {*claude, *codex} if "approval" in key or key == "tools"} == set()


def test_the_plugin_starts_its_own_launcher() -> None:
    assert (PLUGIN / "launch" / "launch.py").is_file()
    (claude,) = read("plugin/.mcp.json")["mcpServers"]["skillopt"]["args"]
    assert claude == "${CLAUDE_PLUGIN_ROOT}/launch/launch.py"
    # Codex fills in nothing, and would start the server in the folder of the plugin in place of the project's.
    codex = read("plugin/codex.mcp.json")["mcpServers"]["skillopt"]["args"][1]
    assert f"/skillopt/{__version__}/launch/launch.py" in codex


def test_every_command_says_what_to_do_without_the_program() -> None:
    for path in (*(PLUGIN / "commands").glob("*.md"), SKILL / "SKILL.md"):
        assert "`install_skillopt`" in path.read_text(encoding="utf-8"), path


def test_the_marketplace_points_at_the_plugin_and_the_manifest_at_its_parts() -> None:
    (listed,) = read(".claude-plugin/marketplace.json")["plugins"]
    assert (ROOT / listed["source"]).resolve() == PLUGIN
    manifest = read("plugin/.codex-plugin/plugin.json")
    assert (PLUGIN / manifest["skills"]).is_dir()
    assert (PLUGIN / manifest["mcpServers"]).is_file()


def test_the_registry_is_told_the_name_that_the_readme_confirms() -> None:
    server = read("server.json")
    assert len(server["description"]) <= 100
    assert f"<!-- mcp-name: {server['name']} -->" in (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert server["packages"][0]["identifier"] == project["name"]
    assert server["name"].endswith(f"/{project['name']}")


def test_the_plugins_skill_is_what_we_ask_of_others() -> None:
    assert validate(read_skill(SKILL)) == ()
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 200
    assert [tool for tool in TOOLS if f"`{tool}`" not in text] == []


def test_commands_and_skill_name_no_tool_that_there_is_not() -> None:
    for path in PLUGIN.rglob("*.md"):
        named = set(re.findall(r"`([a-z]+_[a-z_]+)`", path.read_text(encoding="utf-8")))
        assert named <= {*TOOLS, "install_skillopt"}, path


def test_links_of_the_plugin_stay_inside_it() -> None:
    for path in PLUGIN.rglob("*.md"):
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / link).resolve().is_relative_to(PLUGIN), link
            assert (path.parent / link).is_file(), link


def test_nothing_says_that_a_package_index_has_the_package_before_one_has() -> None:
    pages = [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *PLUGIN.rglob("*.md"),
        *(ROOT / "skillopt").rglob("*.py"),
    ]
    claims = re.compile(r"\b(?:pipx?|uv tool|uv pip) install (?:-[\w-]+ )*['\"]?skillopt-mcp|\buvx skillopt-mcp")
    assert [str(page) for page in pages if claims.search(page.read_text(encoding="utf-8"))] == []


def test_users_are_told_all_that_the_sessions_of_the_tests_are_set_up_with() -> None:
    page = (ROOT / "docs" / "in-your-agent.md").read_text(encoding="utf-8")
    assert [name for name, value in WAIT.items() if f"export {name}={value}\n" not in page] == []
    for way in WAYS.values():
        commands = [" ".join((way.client, *words)).format(market=".") for words in way.set_up]
        assert [words for words in (*commands, *way.flags) if words not in page] == []
