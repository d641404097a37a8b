"""The draft through the tools: shown with its grade and measured, never served as a skill, taken by no model."""

from pathlib import Path

import pytest
from mcp import Client

from skillopt_mcp.server import make_server
from skillopt_mcp.tools import TOOLS
from tests.fakes.drafts import accepted, graded, run_events
from tests.fakes.mcp_clients import failed, say
from tests.fakes.projects import git

pytestmark = [pytest.mark.anyio, pytest.mark.process]

EMAIL, DATES = "Write e-mail addresses in lower case.", "Write dates as YYYY-MM-DD."


async def test_the_list_names_the_draft_its_grade_and_who_may_take_it(folder: Path) -> None:
    run_events(folder, graded(EMAIL))
    async with Client(make_server(folder)) as client:
        listed = await say(client, "list_skills", name="rows")
    assert "waits: likely better (91%)" in listed
    assert "`skillopt take rows`" in listed
    assert not any("take" in tool.name for tool in TOOLS)


async def test_the_draft_is_read_with_a_warning_and_compared_with_what_it_is_based_on(folder: Path) -> None:
    run_events(folder, accepted(EMAIL), graded(EMAIL, DATES))
    async with Client(make_server(folder)) as client:
        shown = await say(client, "read_skill", name="rows", version="draft")
        changed = await say(client, "read_skill", name="rows", version="draft", since="start")
        since = await say(
            client, "read_skill", name="rows", version="draft", since=git(folder, "rev-parse", "skillopt/rows")
        )
    assert "accepted and not served" in shown
    assert "skill://" not in shown
    assert DATES in shown
    assert f"+- {DATES}" in changed
    assert f"+- {EMAIL}" not in changed
    assert f"+- {DATES}" in since


async def test_beside_a_draft_the_committed_text_is_served_and_nothing_goes_back_to_the_draft(folder: Path) -> None:
    run_events(folder, graded(EMAIL))
    async with Client(make_server(folder)) as client:
        listed = (await client.list_resources()).resources
        served = {(resource.meta or {})["io.github.skillopt/version"] for resource in listed}
        assert served == {git(folder, "rev-parse", "main")}
        assert "Not trained" in await say(client, "read_skill", name="rows")
        assert "accepted version" in await failed(client, "rollback_skill", name="rows", version="draft")
