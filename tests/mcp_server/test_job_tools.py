"""What is told before a job starts, and what keeps one from starting: nothing is spent that nobody agreed to."""

from pathlib import Path

import pytest
from mcp import Client

from skillopt.errors import UsageError
from skillopt.execution.installation import check_unchanged
from skillopt.storage.jobs import list_jobs, wait_for_job
from skillopt_mcp.server import make_server
from tests.fakes.jobs import record_job
from tests.fakes.mcp_clients import failed, say
from tests.fakes.projects import make_project

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PAID = 'harness = "chat/anthropic/claude-sonnet-5"\nmodel = "demo"\n[skills.rows]\nsuite = "suites/rows.jsonl"\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-for-tests")
    return make_project(tmp_path / "project")


async def refused(project: Path, **arguments: object) -> str:
    async with Client(make_server(project)) as client:
        told = await failed(client, "start_job", name="rows", **arguments)
    assert not list_jobs(project)
    return told


async def test_a_start_repeats_what_runs_what_it_is_likely_to_take_and_the_limits(project: Path) -> None:
    async with Client(make_server(project)) as client:
        told = await say(client, "start_job", name="rows", max_minutes=15)
    begun = list_jobs(project)[0]
    wait_for_job(project, begun.id, 120)
    assert "It measures the incumbent on 8 train tasks, 1 run of each: 8 rollouts, with harness `demo`." in told
    assert "Likely: about 8 rollouts, under 1 min, $0.00." in told
    assert "Limits in force: 15 minutes; no cap on dollars is set." in told
    assert begun.limits["max_minutes"] == 15.0


@pytest.mark.parametrize("work", ["evaluate", "optimize"])
async def test_a_job_that_is_paid_for_needs_a_cap_on_dollars(project: Path, work: str) -> None:
    (project / "skillopt.toml").write_text(PAID, encoding="utf-8")
    told = await refused(project, work=work, max_rollouts=200)
    assert "expected a cap on dollars for a job that is paid for (chat/anthropic/claude-sonnet-5), found none" in told
    assert "set max_usd; it is likely to cost about $" in told


async def test_a_second_job_of_a_skill_is_refused_with_the_first_ones_id(project: Path) -> None:
    first = record_job(project, "rows", ["evaluate"]).name
    async with Client(make_server(project)) as client:
        assert f"job {first} runs for 'rows' already" in await failed(client, "start_job", name="rows")
    assert len(list_jobs(project)) == 1


def test_a_program_that_was_replaced_meanwhile_starts_nothing() -> None:
    with pytest.raises(UsageError, match=r"expected version 0\.0\.1, found .*; start the client anew"):
        check_unchanged("0.0.1")
