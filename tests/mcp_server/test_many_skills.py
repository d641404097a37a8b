"""Many skills come in pages, and what is served untrained is the default branch."""

from pathlib import Path

import pytest
from mcp import Client

from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import failed, say
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, make_repository

pytestmark = pytest.mark.anyio


async def test_many_skills_come_in_pages_that_name_each_once(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    for number in range(230):
        made = folder / "skills" / f"skill-{number:04}"
        made.mkdir()
        (made / "SKILL.md").write_text(f"---\nname: {made.name}\ndescription: D.\n---\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Many")
    async with Client(make_server(folder)) as client:
        pages = [await say(client, "list_skills", page=number) for number in (1, 2, 3)]
        assert "versions; page 1 of 3; call" in pages[0]
        rows = [line.split()[1] for page in pages for line in page.splitlines() if line.startswith("| skill-")]
        assert rows == [f"skill-{number:04}" for number in range(230)]
        assert all(len(page.encode()) < 40_000 for page in pages)
        assert "page from 1 to 3, found 4" in await failed(client, "list_skills", page=4)


async def test_what_is_served_untrained_is_the_default_branch_and_not_what_is_checked_out(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    git(folder, "update-ref", "refs/remotes/origin/main", "main")
    git(folder, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(folder, "checkout", "--quiet", "-b", "feature")
    (folder / FOLDER / "SKILL.md").write_text("Feature.\n")
    git(folder, "commit", "--quiet", "--all", "-m", "Feature")
    async with Client(make_server(folder)) as client:
        assert "Feature." not in await say(client, "read_skill", name="rows")
        git(folder, "symbolic-ref", "-d", "refs/remotes/origin/HEAD")
        assert "text of branch main" in await say(client, "read_skill", name="rows")
        git(folder, "branch", "--move", "main", "trunk")
        assert "text of branch origin/main" in await say(client, "read_skill", name="rows")
        git(folder, "update-ref", "-d", "refs/remotes/origin/main")
        assert "Feature." in await say(client, "read_skill", name="rows")
        git(folder, "branch", "--move", "trunk", "main")
        git(folder, "branch", "--move", "skillopt-draft/rows")
        assert "Feature." not in await say(client, "read_skill", name="rows")
