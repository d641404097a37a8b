"""Whatever is sent: an error by the protocol, nothing of the machine in it, and the server goes on."""

import json
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import EVERY_PROTOCOL, accept, ask, pipe, text_of
from tests.fakes.projects import git

pytestmark = pytest.mark.process

BOUNDED = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
METHODS = [
    *("tools/call", "tools/list", "resources/read", "resources/list", "skills/get"),
    *("skills/list", "prompts/get", "ping", "logging/setLevel", "no/such/method", "", "initialize"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["name", "uri", "cursor", "arguments", "page", "version", "_meta", "protocolVersion"])
REQUESTS = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": st.integers(0, 9) | st.text(max_size=4) | VALUES,
        "method": st.sampled_from(METHODS),
    },
    optional={"params": st.dictionaries(KEYS, VALUES, max_size=4) | VALUES},
)
LINES = st.one_of(
    st.binary(max_size=60).map(lambda line: line.replace(b"\n", b" ")),
    VALUES.map(lambda value: json.dumps(value).encode()),
    REQUESTS.map(lambda request: json.dumps(request).encode()),
    st.sampled_from([b"[" * 5000, b'{"a":' * 5000, b'"\\ud800"', b"\xff\xfe", b"\0", b"[]", b'{"jsonrpc":"2.0"}']),
)


def test_random_lines_do_not_stop_a_server(project: Path) -> None:
    with pipe(project) as server:
        server.write(b"\xff")
        server.shake("2025-11-25")

        @BOUNDED
        @given(st.lists(LINES, min_size=1, max_size=5))
        def check(lines: list[bytes]) -> None:
            for line in lines:
                server.write(line)
            answer = server.ask("resources/read", uri="skill://rows/SKILL.md")
            assert answer["result"]["contents"][0]["text"].endswith("- Sort.\n")

        check()


async def refusal(client: Client, method: str, params: dict[str, object]) -> MCPError | None:
    try:
        await ask(client, method, **params)
    except MCPError as error:
        return error
    return None


def test_no_name_that_a_client_sends_leads_out_of_a_skill(project: Path) -> None:
    outside = "outside the skill"
    (project / "SECRET.md").write_text(outside, encoding="utf-8")
    (project / "skills" / "SECRET.md").write_text(outside, encoding="utf-8")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Secret")
    accept(project, text="- Count.\n")
    dots = ["..", "%2e%2e", "..%2f", "/", "//", "\\", ".", "~", "\0"]
    parts = st.sampled_from([*dots, "SECRET.md", "skills", "rows", "evals", "SKILL.md"])
    paths = st.lists(parts, min_size=1, max_size=6).map("/".join) | st.text(max_size=30)

    async def check(path: str) -> None:
        async with Client(make_server(project), cache=None) as client:
            for uri in (f"skill://rows/{path}", f"skill://{path}", path):
                try:
                    found = str(await client.read_resource(uri))
                except MCPError as error:
                    found = str(error)
                assert outside not in found
            for arguments in ({"name": "rows", "file": path}, {"name": path}, {"name": "rows", "version": path}):
                found = text_of(await client.call_tool("read_skill", arguments))
                assert outside not in found

    @BOUNDED
    @given(paths)
    def run(path: str) -> None:
        anyio.run(check, path)

    run()


@pytest.mark.anyio
async def test_huge_strings_get_short_errors(client: Client) -> None:
    huge = "x" * 2_000_000
    for tool, arguments in (
        ("read_skill", {"name": huge}),
        ("read_skill", {"name": "rows", "file": huge}),
        ("job_status", {"job_id": huge}),
        ("propose_edits", {"name": "rows", "base": "0" * 12, "edits": [{"op": "add", "content": huge}]}),
    ):
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert len(text_of(result)) < 2000
    for method, params in (
        ("skills/get", {"uri": huge}),
        ("prompts/get", {"name": huge}),
        ("tools/call", {"name": huge}),
    ):
        with pytest.raises(MCPError) as caught:
            await ask(client, method, **params)
        assert len(str(caught.value)) < 2000


@pytest.mark.anyio
@EVERY_PROTOCOL
async def test_of_an_unforeseen_error_nothing_reaches_the_client(mode: str) -> None:
    # No folder can be called this, so everything fails in a way that nobody expects.
    async with Client(make_server(Path("a-secret\0place")), mode=mode) as client:
        for method in ("skills/list", "resources/list"):
            error = await refusal(client, method, {})
            assert error is not None
            assert error.code == -32603
            assert "server failed; its log" in error.message
        with pytest.raises(MCPError, match="server failed; its log"):
            await client.call_tool("list_skills", {})
        assert (await client.list_prompts()).prompts
