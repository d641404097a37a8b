"""Waiting for jobs: news at once, else at the latest after the wait, with progress for clients that want it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from filelock import BaseFileLock, FileLock
from mcp import Client

from skillopt.rollouts import Usage
from skillopt.storage.jobs import JobProgress, finish_job, note_progress, note_progress_in
from skillopt_mcp.job_tools import MOST_WAITED
from skillopt_mcp.server import make_server
from tests.fakes.jobs import record_job
from tests.fakes.mcp_clients import say, text_of
from tests.fakes.repositories import make_repository

pytestmark = [pytest.mark.anyio, pytest.mark.process]

NOTED = JobProgress(
    "gate", "rollouts", 34, 120, 120, Usage(34, 3000, 400, 0.12), {"target": Usage(34, 3000, 400, 0.12)}
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


@contextmanager
def running(project: Path) -> Iterator[tuple[str, Path, BaseFileLock]]:
    """Make a job whose process is this one."""
    folder = record_job(project, "rows", ["evaluate"])
    with FileLock(folder / "lock") as lock:
        (folder / "pid").write_text("1")
        note_progress_in(folder)
        yield folder.name, folder, lock


@pytest.mark.parametrize("ends", [True, False])
async def test_a_look_that_waits_is_answered_at_once_where_a_job_ends_or_has_a_verdict(
    project: Path, *, ends: bool
) -> None:
    lines: list[tuple[float, float | None, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        lines.append((progress, total, message))
        if ends:
            finish_job(folder, 0)
            lock.release()
        else:
            note_progress(JobProgress(news=1))

    with running(project) as (name, folder, lock), anyio.fail_after(MOST_WAITED - 10):
        note_progress(NOTED)
        async with Client(make_server(project)) as client:
            given = {"wait_seconds": MOST_WAITED}  # for the one job that runs
            told = text_of(await client.call_tool("job_status", given, progress_callback=heard))
    assert f"# Job {name}: {'done' if ends else 'running'}" in told
    assert [(done, total) for done, total, _ in lines] == [(34, 120)]
    assert "34 of 120 rollouts" in str(lines[0][2])


async def test_a_verdict_that_came_between_two_looks_is_told_at_once_and_only_once(project: Path) -> None:
    with running(project) as (name, *_):
        async with Client(make_server(project)) as client:
            note_progress(JobProgress(news=1))
            await say(client, "job_status", job_id=name, wait_seconds=0)
            note_progress(JobProgress(news=2))
            with anyio.fail_after(MOST_WAITED - 10):
                await say(client, "job_status", job_id=name, wait_seconds=MOST_WAITED)
            with anyio.move_on_after(1) as waits:
                await say(client, "job_status", job_id=name, wait_seconds=MOST_WAITED)
    assert waits.cancelled_caught


async def test_a_client_that_goes_away_while_it_waits_is_not_waited_for(project: Path) -> None:
    with running(project) as (name, *_), anyio.fail_after(MOST_WAITED - 10):
        async with Client(make_server(project)) as client:
            with anyio.move_on_after(0.5) as gone:
                await say(client, "job_status", job_id=name, wait_seconds=MOST_WAITED)
        assert gone.cancelled_caught
