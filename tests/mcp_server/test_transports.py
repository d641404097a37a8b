"""The server over stdio and HTTP: handshakes, its end, tokens, and its command line."""

import json
import signal
import socket
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path

import pytest

import skillopt
from tests.fakes.mcp_clients import MODERN, TOKEN, pipe, serving
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
    assert shaken["capabilities"]["resources"] == {"subscribe": False, "listChanged": True}
    assert read["contents"][0]["text"].endswith("- Sort.\n")
    assert "| rows |" in called["content"][0]["text"]
    assert listed["skills"][0]["uri"] == "skill://rows/SKILL.md"


def test_clients_of_2026_need_no_handshake(project: Path) -> None:
    with pipe(project.parent, "-C", "project") as server:
        discovered = server.ask("server/discover", _meta=MODERN)["result"]
        listed = server.ask("skills/list", _meta=MODERN)["result"]
        wrong = server.ask("skills/get", uri="skill://none/SKILL.md", _meta=MODERN)

    assert discovered["capabilities"]["extensions"] == {"io.modelcontextprotocol/skills": {}}
    assert discovered["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
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
        (["--http", "--port", "70000"], 3, "choose another with --port"),
        (["--port", "x"], 2, "--port"),
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


HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "Authorization": f"Bearer {TOKEN}",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/list",
}


def post(port: int, **changes: str | None) -> tuple[int, str]:
    """Ask for the tools, with headers changed or left out."""
    changed = {name.replace("_", "-"): value for name, value in changes.items()}
    headers = {name: value for name, value in {**HEADERS, **changed}.items() if value is not None}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": MODERN}})
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", "/mcp", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_requests_with_the_token_are_served_and_all_others_refused(project: Path) -> None:
    with serving(project, SKILLOPT_MCP_TOKEN=TOKEN) as (_, said, port):
        assert TOKEN not in said
        status, text = post(port)
        assert (status, "list_skills" in text) == (200, True)
        for wrong in (None, "", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"bearer {TOKEN}", "Bearer ü"):
            assert post(port, Authorization=wrong)[0] == 401
        assert post(port, Host="evil.example")[0] == 421
        assert post(port, Host=f"127.0.0.1.evil.example:{port}")[0] == 421
        assert post(port, Origin="https://evil.example")[0] == 403
        assert post(port, Origin=f"http://127.0.0.1:{port}")[0] == 200
        assert post(port, Content_Type="text/plain")[0] in {400, 415}
        with socket.socket() as other:
            # The same port is free on another address of the machine, so the server is not on all of them.
            other.bind(("127.0.0.2", port))
        for method in ("GET", "DELETE", "PUT"):
            connection = HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request(method, "/mcp")
            assert connection.getresponse().status == 401
            connection.close()


def test_without_a_token_one_is_made_and_told(project: Path) -> None:
    with serving(project) as (_, said, port):
        token = said.partition("each time: ")[2].partition("\n")[0]

        assert len(token) > 30
        assert post(port, Authorization=f"Bearer {token}")[0] == 200
        assert post(port)[0] == 401
