"""A change of a branch or of skillopt.toml is in the next answer, and listeners are told."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import ResourceListChangedNotification

from skillopt.errors import SkillError
from skillopt.tasks import File
from skillopt.versions.branches import snapshot_of
from skillopt.versions.repository import Repository
from skillopt_mcp.catalogue import ServedSkill, served_page, served_skill
from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import accept, ask
from tests.fakes.projects import git
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "project")
    accept(folder, text="- Sort.\n")
    (folder / "skillopt.toml").write_text('[skills.rows]\npath = "skills/rows"\n')
    return folder


def text(folder: Path) -> str:
    (file,) = (file for file in served_skill(folder, "rows").files if file.path == "SKILL.md")
    return file.content.decode()


def served_skills(folder: Path) -> tuple[ServedSkill, ...]:
    return served_page(folder, "", 9)[0]


def commits(project: Path) -> None:
    accept(project, text="- Trim.\n")


def resets(project: Path) -> None:
    git(project, "update-ref", "refs/heads/skillopt/rows", git(project, "rev-parse", "HEAD"))


def packs(project: Path) -> None:
    git(project, "pack-refs", "--all", "--prune")


def deletes(project: Path) -> None:
    git(project, "branch", "-D", "skillopt/rows")


CHANGES = [commits, resets, packs, deletes]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("packed", [False, True])
def test_what_becomes_of_a_branch_is_seen_at_once(
    project: Path, change: Callable[[Path], None], *, packed: bool
) -> None:
    if packed:
        packs(project)
    assert text(project).endswith("- Sort.\n")
    change(project)
    tip = git(project, "for-each-ref", "--format=%(objectname)", "refs/heads/skillopt/rows")
    assert snapshot_of(Repository(project)).tips == ({"rows": tip} if tip else {})
    served = [skill.version for skill in served_skills(project)]
    assert served == [tip if change in (commits, packs) else git(project, "rev-parse", "main")]


def test_a_version_without_the_skill_is_refused(project: Path) -> None:
    empty = git(project, "mktree", "--missing")
    bare = git(project, "commit-tree", empty, "-m", "Gone\n\nSkill: rows\nVal-After: 1 of 2")
    git(project, "update-ref", "refs/heads/skillopt/rows", bare)
    with pytest.raises(SkillError, match=r"expected 'SKILL\.md' in skills/rows"):
        served_skill(project, "rows")


def test_a_version_is_served_from_where_it_has_the_skill_when_the_folder_has_moved_since(project: Path) -> None:
    git(project, "mv", "skills/rows", "rows")
    assert text(project).endswith("- Sort.\n")
    (project / "skillopt.toml").write_text('[skills.rows]\npath = "rows"\n')
    assert text(project).endswith("- Sort.\n")


MAIN = "skill://rows/SKILL.md"
ADDED = "skill://rows/added.md"


async def heard(folder: Path, *versions: str) -> list[ServerEvent]:
    """Listen while versions are accepted, until the list has changed once for each."""
    events: list[ServerEvent] = []
    async with (
        Client(make_server(folder, every=0.01)) as client,
        client.listen(
            resources_list_changed=True, resource_subscriptions=[MAIN, ADDED, "skill://rows/run.sh"]
        ) as stream,
    ):
        for text in versions:
            accept(folder, *([File("added.md", b"")] if text == "add" else []), text=text)
            with anyio.fail_after(30):
                async for event in stream:
                    events.append(event)
                    if event == ResourcesListChanged():
                        break
    return events


async def test_a_listener_is_told_of_each_accepted_version_and_of_its_files(project: Path) -> None:
    told = await heard(project, "- Count.\n", "add")
    assert told.count(ResourceUpdated(MAIN)) == 2
    assert told.count(ResourcesListChanged()) == 2
    assert ResourceUpdated(ADDED) in told


async def test_a_listener_is_told_when_the_branch_of_a_skill_is_gone(project: Path) -> None:
    async with Client(make_server(project, every=0.01)) as client, client.listen(resources_list_changed=True) as stream:
        git(project, "branch", "--delete", "--force", "skillopt/rows")
        with anyio.fail_after(30):
            assert await anext(aiter(stream)) == ResourcesListChanged()
        assert [one["uri"] for one in (await ask(client, "skills/list"))["skills"]] == [MAIN]


async def test_an_older_client_is_told_that_the_list_changed(project: Path) -> None:
    done = anyio.Event()

    async def take(message: IncomingMessage) -> None:
        if isinstance(message, ResourceListChangedNotification):
            done.set()
        await anyio.lowlevel.checkpoint()

    async with Client(make_server(project, every=0.01), mode="legacy", message_handler=take):
        with anyio.fail_after(60):
            while not done.is_set():  # the server may take note of the client after the first
                accept(project, text="- Count.\n")
                with anyio.move_on_after(2):
                    await done.wait()
