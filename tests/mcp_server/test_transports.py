"""The server over stdio: handshakes, its end, and its command line."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import skillopt
from tests.fakes.mcp_clients import MODERN, pipe
from tests.fakes.projects import git

pytestmark = pytest.mark.process


def test_older_clients_shake_hands_and_are_served(project: Path) -> None:
    with pipe(project) as server:
        shaken = server.shake("2025-06-18")["result"]
        read = server.ask("resources/read", uri="skill://rows/SKILL.md")["result"]
        called = server.ask("tools/call", name="list_skills", arguments={})["result"]
        listed = server.ask("skills/list")["result"]

    assert shaken["protocolVersion"] == "2025-06-18"
    assert shaken["serverInfo"]["version"] == skillopt.__version__
    assert shaken["capabilities"]["resources"] == {"subscribe": False, "listChanged": False}
    assert read["contents"][0]["text"].endswith("- Sort.\n")
    assert "| rows |" in called["content"][0]["text"]
    assert listed["skills"][0]["uri"] == "skill://rows/SKILL.md"


def test_clients_of_2026_need_no_handshake(project: Path) -> None:
    with pipe(project.parent, "-C", "project") as server:
        discovered = server.ask("server/discover", _meta=MODERN)["result"]
        listed = server.ask("skills/list", _meta=MODERN)["result"]
        wrong = server.ask("skills/get", uri="skill://none/SKILL.md", _meta=MODERN)

    assert discovered["capabilities"]["extensions"] == {"io.modelcontextprotocol/skills": {}}
    assert discovered["capabilities"]["resources"] == {"subscribe": False, "listChanged": False}
    assert (listed["resultType"], listed["cacheScope"], listed["ttlMs"] > 0) == ("complete", "private", True)
    assert wrong["error"]["code"] == -32602


def test_the_server_ends_when_its_client_does(project: Path) -> None:
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": MODERN}}]
    given = "".join(f"{json.dumps(line)}\n" for line in lines)

    command = [sys.executable, "-m", "skillopt_mcp"]
    ended = subprocess.run(command, cwd=project, check=False, input=given, capture_output=True, text=True, timeout=60)

    assert ended.returncode == 0
    assert [json.loads(line)["id"] for line in ended.stdout.splitlines()] == [1]
    assert git(project, "status", "--porcelain") == ""


def test_ctrl_c_ends_the_server_though_its_client_goes_on(project: Path) -> None:
    command = [sys.executable, "-m", "skillopt_mcp"]
    with subprocess.Popen(command, cwd=project, stdin=-1, stdout=-1, stderr=-1, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        line = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": MODERN}}
        server.stdin.write(f"{json.dumps(line)}\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 130
        assert server.stderr.read() == "interrupted\n"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--version"], 0, f"skillopt-mcp {skillopt.__version__}"),
        (["-C", "no/such/folder"], 2, "expected a folder, found 'no/such/folder'"),
        (["--port", "1"], 2, "--port"),
    ],
)
def test_the_command_line_says_what_it_means(tmp_path: Path, arguments: list[str], code: int, told: str) -> None:
    command = [sys.executable, "-m", "skillopt_mcp", *arguments]
    ended = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60)

    assert ended.returncode == code
    assert told in ended.stdout + ended.stderr


def test_the_version_is_told_without_the_imports_that_take_long(tmp_path: Path) -> None:
    program = (
        "import sys, skillopt_mcp.__main__ as main\n"
        "assert not {'mcp', 'git', 'pydantic', 'starlette'} & set(sys.modules), sorted(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60)
