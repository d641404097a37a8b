"""The MCP Inspector's command line, started as its users start it, against the server over a pipe."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillopt.tasks import File
from skillopt_mcp.tools import TOOLS
from tests.fakes.mcp_clients import accept, install_server
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.agents

Inspector = Callable[..., dict[str, Any]]


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(
    agent: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run the inspector in a project, with a home of its own."""
    command = [agent("node"), agent("inspector"), "--cli"]
    project = make_repository(tmp_path / "project")
    accept(project, File("references/more.md", b"More.\n"), text="- Sort.\n")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    server = str(install_server(tmp_path / "programs" / "skillopt-mcp"))

    def started(era: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*command, server, "--protocol-era", era, "--method", *arguments],
            cwd=project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return started


@pytest.fixture
def inspect(run: Callable[..., "subprocess.CompletedProcess[str]"], era: str) -> Inspector:
    """Ask for something that is expected to work."""

    def asked(*arguments: str) -> dict[str, Any]:
        ended = run(era, *arguments)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        answer: dict[str, Any] = json.loads(ended.stdout)
        return answer

    return asked


def test_tools_are_listed_without_a_complaint_and_called(inspect: Inspector) -> None:
    listed = inspect("tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in TOOLS]
    overview = inspect("tools/call", "--tool-name", "list_skills")
    assert "| rows |" in overview["content"][0]["text"]
    read = inspect("tools/call", "--tool-name", "read_skill", "--tool-arg", "name=rows")
    assert "- Sort." in read["content"][0]["text"]


def test_resources_are_listed_and_read(inspect: Inspector) -> None:
    listed = [resource["uri"] for resource in inspect("resources/list")["resources"]]
    assert listed == ["skill://rows/SKILL.md", "skill://rows/references/more.md", "skill://rows/run.sh"]
    (content,) = inspect("resources/read", "--uri", listed[0])["contents"]
    assert content["mimeType"] == "text/markdown"
    assert content["text"].endswith("- Sort.\n")
    assert len(inspect("resources/templates/list")["resourceTemplates"]) == 2


def test_prompts_are_listed_and_filled_in(inspect: Inspector) -> None:
    listed = {prompt["name"] for prompt in inspect("prompts/list")["prompts"]}
    assert "optimize-skill" in listed
    got = inspect("prompts/get", "--prompt-name", "optimize-skill", "--prompt-args", "skill=rows")
    assert "`rows`" in got["messages"][0]["content"]["text"]


def test_what_is_not_there_is_an_error(run: Callable[..., "subprocess.CompletedProcess[str]"], era: str) -> None:
    ended = run(era, "tools/call", "--tool-name", "read_skill", "--tool-arg", "name=none")
    assert ended.returncode != 0
    assert "expected the name of a skill, found 'none'; the skills here: rows" in ended.stdout
    assert run(era, "resources/read", "--uri", "skill://none/SKILL.md").returncode != 0


def test_the_digests_of_every_skill_are_verified(run: Callable[..., "subprocess.CompletedProcess[str]"]) -> None:
    ended = run("modern", "skills/list", "--verify", "--require-digests")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    ended = run("modern", "resources/directory/read", "--uri", "skill://rows/references")
    assert "skill://rows/references/more.md" in ended.stdout
