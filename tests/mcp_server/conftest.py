"""A project with one accepted version, and a client."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client

from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import accept
from tests.fakes.repositories import make_repository


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "project")
    accept(folder, text="- Sort.\n")
    return folder


@pytest.fixture
def mode() -> str:
    """Return the newest version of the protocol; a test takes every one with EVERY_PROTOCOL."""
    return "2026-07-28"


@pytest.fixture
async def client(project: Path, mode: str) -> AsyncIterator[Client]:
    async with Client(make_server(project), mode=mode, cache=None) as client:
        yield client
