from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import ResourceListChangedNotification

from skillopt.tasks import File
from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import accept, ask
from tests.fakes.projects import git

pytestmark = pytest.mark.anyio

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
