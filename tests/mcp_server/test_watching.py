from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

from skillopt.tasks import File
from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import accept, ask
from tests.fakes.projects import git
from tests.fakes.repositories import make_repository

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


async def test_a_listener_is_told_of_an_accepted_version_and_of_the_files_in_it_that_changed(project: Path) -> None:
    assert await heard(project, "- Count.\n") == [ResourceUpdated(MAIN), ResourcesListChanged()]


async def test_a_listener_is_told_of_files_that_were_added(project: Path) -> None:
    assert set(await heard(project, "add")) == {ResourceUpdated(MAIN), ResourceUpdated(ADDED), ResourcesListChanged()}


async def test_a_listener_is_told_of_a_first_version(tmp_path: Path) -> None:
    assert ResourceUpdated(MAIN) in await heard(make_repository(tmp_path), "- Sort.\n")


async def test_a_listener_is_told_each_time(project: Path) -> None:
    assert (await heard(project, "- Count.\n", "- Name.\n")).count(ResourceUpdated(MAIN)) == 2


async def test_a_listener_is_told_when_the_branch_of_a_skill_is_gone(project: Path) -> None:
    async with (
        Client(make_server(project, every=0.01)) as client,
        client.listen(resources_list_changed=True) as stream,
    ):
        git(project, "branch", "--delete", "--force", "skillopt/rows")
        with anyio.fail_after(30):
            assert await anext(aiter(stream)) == ResourcesListChanged()
        assert [one["uri"] for one in (await ask(client, "skills/list"))["skills"]] == [MAIN]


async def test_an_older_client_is_told_of_the_list_and_of_what_it_subscribed_to(project: Path) -> None:
    told: list[str] = []
    done = anyio.Event()

    async def take(message: IncomingMessage) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            told.append(message.params.uri)
        if isinstance(message, ResourceListChangedNotification):
            done.set()
        await anyio.lowlevel.checkpoint()

    server = make_server(project, every=0.01)
    async with Client(server, mode="legacy", message_handler=take) as client:
        resources = client.server_capabilities.resources
        assert resources is not None
        assert (resources.subscribe, resources.list_changed) == (True, True)
        for uri in (MAIN, ADDED):
            await ask(client, "resources/subscribe", uri=uri)
        await ask(client, "resources/unsubscribe", uri=ADDED)
        accept(project, File("added.md", b""), text="- Count.\n")
        with anyio.fail_after(30):
            await done.wait()

    assert told == [MAIN]
