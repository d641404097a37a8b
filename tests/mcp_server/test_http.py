import json
import socket
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.fakes.mcp_clients import MODERN, TOKEN, serving

pytestmark = pytest.mark.process

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
