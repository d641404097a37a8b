"""Jobs by the tools: what is told before one starts, what keeps one from starting, and waiting for its news."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from filelock import BaseFileLock, FileLock
from mcp import Client

from skillopt.errors import UsageError
from skillopt.execution.installation import check_unchanged
from skillopt.rollouts import Usage
from skillopt.storage.jobs import JobProgress, finish_job, list_jobs, note_progress, note_progress_in, wait_for_job
from skillopt_mcp.job_tools import MOST_WAITED
from skillopt_mcp.server import make_server
from tests.fakes.jobs import record_job
from tests.fakes.mcp_clients import failed, say, text_of
from tests.fakes.projects import make_project
from tests.fakes.repositories import make_repository

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


NOTED = JobProgress(
    "gate", "rollouts", 34, 120, 120, Usage(34, 3000, 400, 0.12), {"target": Usage(34, 3000, 400, 0.12)}
)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


@contextmanager
def running(plain: Path) -> Iterator[tuple[str, Path, BaseFileLock]]:
    """Make a job whose process is this one."""
    folder = record_job(plain, "rows", ["evaluate"])
    with FileLock(folder / "lock") as lock:
        (folder / "pid").write_text("1")
        note_progress_in(folder)
        yield folder.name, folder, lock


@pytest.mark.parametrize("ends", [True, False])
async def test_a_look_that_waits_is_answered_where_a_job_ends_or_has_a_verdict(plain: Path, *, ends: bool) -> None:
    lines: list[tuple[float, float | None, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        lines.append((progress, total, message))
        if ends:
            finish_job(folder, 0)
            lock.release()
        else:
            note_progress(JobProgress(news=1))

    with running(plain) as (name, folder, lock), anyio.fail_after(MOST_WAITED - 10):
        note_progress(NOTED)
        async with Client(make_server(plain)) as client:
            given = {"wait_seconds": MOST_WAITED}  # for the one job that runs
            told = text_of(await client.call_tool("job_status", given, progress_callback=heard))
    assert f"# Job {name}: {'done' if ends else 'running'}" in told
    assert [(done, total) for done, total, _ in lines] == [(34, 120)]
    assert "34 of 120 rollouts" in str(lines[0][2])


async def test_a_verdict_that_came_between_two_looks_is_told_at_once_and_only_once(plain: Path) -> None:
    with running(plain) as (name, *_):
        async with Client(make_server(plain)) as client:
            note_progress(JobProgress(news=1))
            await say(client, "job_status", job_id=name, wait_seconds=0)
            note_progress(JobProgress(news=2))
            with anyio.fail_after(MOST_WAITED - 10):
                await say(client, "job_status", job_id=name, wait_seconds=MOST_WAITED)
            with anyio.move_on_after(1) as waits:
                await say(client, "job_status", job_id=name, wait_seconds=MOST_WAITED)
    assert waits.cancelled_caught


async def test_a_client_that_goes_away_while_it_waits_is_not_waited_for(plain: Path) -> None:
    with running(plain) as (name, *_), anyio.fail_after(MOST_WAITED - 10):
        async with Client(make_server(plain)) as client:
            with anyio.move_on_after(0.5) as gone:
                await say(client, "job_status", job_id=name, wait_seconds=MOST_WAITED)
        assert gone.cancelled_caught
