"""Jobs: real processes that outlive whoever started them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillopt.errors import UsageError
from skillopt.project import Selection
from skillopt.runs.jobs import start_evaluation
from skillopt.storage.jobs import Job, JobState, find_job, wait_for_job
from tests.fakes.held_provider import HeldProvider
from tests.fakes.projects import skillopt
from tools.fake_providers.fake_anthropic import fake_anthropic

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

LONG = 120.0
TASKS = 8


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldProvider]:
    """A provider that answers nothing before it may."""
    provider = HeldProvider(0)
    with fake_anthropic(provider) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield provider
        provider.may.set()


def selection(folder: Path, **flags: object) -> Selection:
    return Selection("rows", flags, folder=folder)


def begin_held(folder: Path, provider: HeldProvider) -> str:
    """Start an evaluation whose first rollout waits for the provider."""
    begun = start_evaluation(selection(folder, harness="chat/anthropic/fake", max_minutes=60))
    assert provider.asked.acquire(timeout=60)
    assert find_job(folder, begun.id).state is JobState.RUNNING
    return begun.id


def status(folder: Path) -> dict[str, Any]:
    return dict(json.loads(skillopt(folder, "status", "--json").stdout))


def ended(folder: Path, name: str) -> Job:
    job = wait_for_job(folder, name, LONG)
    assert job.state is not JobState.RUNNING
    return job


@pytest.mark.process
def test_a_job_outlives_the_process_that_started_it(folder: Path, held: HeldProvider) -> None:
    program = (
        "from pathlib import Path; from skillopt.runs.jobs import start_evaluation; "
        "from skillopt.project import Selection; "
        "flags = {'harness': 'chat/anthropic/fake', 'max_minutes': 60}; "
        "print(start_evaluation(Selection('rows', flags, folder=Path('.'))).id)"
    )
    begun = subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, capture_output=True, text=True)
    assert held.asked.acquire(timeout=60)
    held.may.set()
    assert ended(folder, begun.stdout.strip()).state is JobState.DONE


@pytest.mark.process
def test_a_killed_job_is_lost_and_the_same_job_goes_on_without_paying_twice(folder: Path, held: HeldProvider) -> None:
    held.left = 3
    name = begin_held(folder, held)
    holder = folder / ".skillopt" / "jobs" / name / "pid"
    os.kill(int(holder.read_text()), signal.SIGKILL)
    assert ended(folder, name).state is JobState.LOST
    held.may.set()
    kept = status(folder)["rollouts"]
    again = ended(folder, start_evaluation(selection(folder, harness="chat/anthropic/fake", max_minutes=60)).id)
    assert again.state is JobState.DONE
    assert 0 < kept < TASKS
    assert f"{TASKS - kept} new rollouts" in again.output


@pytest.mark.parametrize("name", ["../../etc", "20260101-000000-beef/../x"])
def test_an_unknown_job_is_refused_whatever_its_name(folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match="expected the id of a job"):
        find_job(folder, name)


@pytest.mark.process
def test_the_command_line_lists_shows_and_cancels_jobs(folder: Path, held: HeldProvider) -> None:
    name = begin_held(folder, held)
    assert f"{name}  rows: evaluate, running" in skillopt(folder, "jobs").stdout
    assert f"job {name}" in skillopt(folder, "status").stdout
    assert skillopt(folder, "jobs", name, "--cancel").returncode == 0
    held.may.set()
    shown = skillopt(folder, "jobs", name, "--wait", "60", "--json")
    assert json.loads(shown.stdout)["job"]["state"] == "cancelled"
    assert skillopt(folder, "jobs", "nope").returncode == 2
