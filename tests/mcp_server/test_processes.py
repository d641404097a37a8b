"""How many git processes an answer starts: they are what a read costs."""

import os
from pathlib import Path

import pytest
from git.cmd import Git
from mcp import Client

from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import accept
from tests.fakes.projects import git
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.anyio

MAIN = "skill://rows/SKILL.md"
_LONG_AGO = 1_700_000_000


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which every git process is added."""
    started: list[str] = []
    execute = Git.execute

    def listed(self: Git, command: list[str], **options: object) -> object:
        started.append(" ".join(command))
        return execute(self, command, **options)  # type: ignore[call-overload]  # as it was called

    monkeypatch.setattr(Git, "execute", listed)
    return started


def settle(folder: Path) -> None:
    """Make the refs look as if nothing had changed them for long."""
    for place in [folder / ".git" / "HEAD", *(Path(each) for each, _, _ in os.walk(folder / ".git" / "refs"))]:
        os.utime(place, (_LONG_AGO, _LONG_AGO))


async def text(client: Client) -> str:
    (content,) = (await client.read_resource(MAIN)).contents
    return getattr(content, "text", "")


async def test_a_read_after_a_read_starts_no_process_until_a_branch_moves(project: Path, processes: list[str]) -> None:
    settle(project)
    async with Client(make_server(project), cache=None) as client:
        assert (await text(client)).endswith("- Sort.\n")
        processes.clear()
        assert (await text(client)).endswith("- Sort.\n")
        assert processes == []
        accept(project, text="- Trim.\n")
        assert (await text(client)).endswith("- Trim.\n")
        processes.clear()
        assert (await text(client)).endswith("- Trim.\n")
        assert len(processes) <= 1


async def test_what_a_linked_work_tree_serves_is_read_with_one_process(tmp_path: Path, processes: list[str]) -> None:
    folder = make_repository(tmp_path / "project")
    linked = tmp_path / "linked"
    git(folder, "worktree", "add", "--quiet", "-b", "feature", str(linked))
    async with Client(make_server(linked), cache=None) as client:
        await text(client)
        processes.clear()
        await text(client)
        assert len(processes) == 1
