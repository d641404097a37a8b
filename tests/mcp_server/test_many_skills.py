"""In a repository with many skills, list_skills starts few git processes and comes in pages that fit."""

from pathlib import Path

import pytest
from mcp import Client

from skillopt_mcp.server import make_server
from tests.fakes.counted_git import CountedGit
from tests.fakes.mcp_clients import say, text_of
from tests.fakes.projects import git
from tests.fakes.skill_repository import make_many

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("skills", [3, 130])
async def test_the_number_of_git_processes_does_not_grow_with_the_skills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skills: int
) -> None:
    folder = make_many(tmp_path / "many", skills, 3, 4)
    git(folder, "update-ref", "-d", "refs/heads/skillopt/skill-0001")
    counted = CountedGit.install(tmp_path / "counted", monkeypatch)
    async with Client(make_server(folder)) as client:
        listed = await say(client, "list_skills")
        assert "| skill-0000 | 3 |" in listed
        assert "| skill-0001 | not trained |" in listed
        assert len(counted.commands) <= 8
        counted.clear()
        await client.list_resources()
        assert len(counted.commands) <= 15 * (1 + skills // 20)


async def test_many_skills_come_in_pages_that_name_each_once(tmp_path: Path) -> None:
    folder = make_many(tmp_path / "many", 230, 0, 1)
    async with Client(make_server(folder)) as client:
        pages = [await say(client, "list_skills", page=number) for number in (1, 2, 3)]
        assert "230 skills, 0 with a branch of versions; page 1 of 3; call again with page=2" in pages[0]
        rows = [line.split()[1] for page in pages for line in page.splitlines() if line.startswith("| skill-")]
        assert rows == [f"skill-{number:04}" for number in range(230)]
        assert all(len(page.encode()) < 40_000 for page in pages)
        result = await client.call_tool("list_skills", {"page": 4})
        assert result.is_error
        assert "expected a page from 1 to 3, found 4" in text_of(result)


async def test_what_is_served_untrained_is_the_default_branch_and_not_what_is_checked_out(tmp_path: Path) -> None:
    folder = make_many(tmp_path / "many", 1, 0, 1)
    git(folder, "update-ref", "refs/remotes/origin/main", "main")
    git(folder, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(folder, "checkout", "--quiet", "-b", "feature")
    (folder / "skills" / "skill-0000" / "SKILL.md").write_text("Feature.\n")
    git(folder, "commit", "--quiet", "--all", "-m", "Feature")
    async with Client(make_server(folder)) as client:
        assert "Feature." not in await say(client, "read_skill", name="skill-0000")
        git(folder, "symbolic-ref", "-d", "refs/remotes/origin/HEAD")
        assert "text of branch main at" in await say(client, "read_skill", name="skill-0000")
        git(folder, "branch", "--move", "main", "trunk")
        assert "text of branch origin/main at" in await say(client, "read_skill", name="skill-0000")
        git(folder, "update-ref", "-d", "refs/remotes/origin/main")
        assert "Feature." in await say(client, "read_skill", name="skill-0000")
        git(folder, "branch", "--move", "trunk", "main")
        git(folder, "branch", "--move", "skillopt-draft/skill-0000")
        assert "Feature." not in await say(client, "read_skill", name="skill-0000")
