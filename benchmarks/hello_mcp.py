"""A hello-world MCP server over stdio, for comparison: the SDK's low-level server, and answers from memory.

    python -m benchmarks.hello_mcp ANSWERS [REPOSITORY]

ANSWERS is a JSON file of what the compared server said: `tools/list`, `skills/list` by its cursor, and
`resources/read`. Each is read once, at the start, and given back as often as it is asked for, so both servers
write the same number of bytes and only the work before that differs. With a REPOSITORY, git lists the branches of
skills before each answer that depends on them, which is the least that a server needs to be up to date.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResult

__all__ = ["main"]

_Context = ServerRequestContext[Any, Any]


def main() -> None:
    """Serve until the pipe is closed."""
    anyio.run(_serve, json.loads(Path(sys.argv[1]).read_bytes()), "".join(sys.argv[2:]))


async def _serve(answers: dict[str, Any], repository: str) -> None:
    tools = ListToolsResult.model_validate(answers["tools/list"])
    content = ReadResourceResult.model_validate(answers["resources/read"])
    pages = answers["skills/list"]

    async def look() -> None:
        if repository:
            await to_thread.run_sync(_list_branches, repository)

    async def list_tools(_ctx: _Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return tools

    async def read_resource(_ctx: _Context, _params: ReadResourceRequestParams) -> ReadResourceResult:
        await look()
        return content

    async def list_skills(_: _Context, params: PaginatedRequestParams) -> dict[str, Any]:
        await look()
        page: dict[str, Any] = pages[params.cursor or ""]
        return page

    server: Server[Any] = Server("hello", on_list_tools=list_tools, on_read_resource=read_resource)
    server.add_request_handler("skills/list", PaginatedRequestParams, list_skills)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _list_branches(repository: str) -> None:
    listing = ["git", "-C", repository, "for-each-ref", "refs/heads/skillopt/"]
    subprocess.run(listing, check=True, capture_output=True)


if __name__ == "__main__":
    main()
