"""Two clients that propose edits of one skill: one job at a time; text in other scripts comes through whole."""

from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult

from skillopt.runs.job_report import jobs
from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import text_of
from tests.fakes.projects import git, make_project, skillopt
from tests.mcp_server.test_training_tools import GOOD, base_of

pytestmark = [pytest.mark.anyio, pytest.mark.process]


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    folder = make_project(tmp_path / "project")
    assert skillopt(folder, "evaluate", "rows", "--split", "train").returncode == 0
    return folder


async def test_of_two_that_propose_at_once_one_gets_a_job_and_the_other_is_told_of_it(measured: Path) -> None:
    answers: list[CallToolResult] = []

    async def propose(client: Client, base: str, content: str) -> None:
        edits = [GOOD | {"content": content}]
        given = {"name": "rows", "base": base, "edits": edits, "wait_seconds": 50}
        answers.append(await client.call_tool("propose_edits", given))

    async with Client(make_server(measured)) as one, Client(make_server(measured)) as other:
        base = await base_of(one)
        async with anyio.create_task_group() as group:
            group.start_soon(propose, one, base, "- Write e-mail addresses in lower case.")
            group.start_soon(propose, other, base, "- Write addresses of e-mail in lower case: größer, 値.")
        (told,) = [text_of(answer) for answer in answers if answer.is_error]
        (begun,) = [text_of(answer) for answer in answers if not answer.is_error]
        (job,) = jobs(folder=measured)
        assert job.id in told
        assert f"# Job {job.id}: done" in begun
        late = await one.call_tool("propose_edits", {"name": "rows", "base": base, "edits": [GOOD]})
        assert late.is_error == bool(git(measured, "branch", "--list", "skillopt/rows"))
