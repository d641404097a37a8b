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

from skillopt.errors import BusyError, UsageError
from skillopt.forecast.job_plan import start_evaluation, start_proposal, start_training
from skillopt.project import Selection
from skillopt.runs.job_report import JobReport, cancel, job, jobs
from skillopt.runs.proposal import EditsProposal
from skillopt.storage.jobs import JobState, find_job
from skillopt.storage.locks import writer_lock
from tests.fakes.held_provider import HeldProvider
from tests.fakes.projects import git, make_project, skillopt
from tools.fake_providers.fake_anthropic import fake_anthropic

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

LONG = 120.0
TASKS = 8
GOOD = {"op": "add", "section": "Values", "content": "- Write e-mail addresses in lower case.", "tasks": ["train1"]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


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


def ended(folder: Path, name: str) -> JobReport:
    report = job(name, wait=LONG, folder=folder)
    assert report.job.state is not JobState.RUNNING
    return report


@pytest.mark.process
def test_a_job_outlives_the_process_that_started_it(project: Path, held: HeldProvider) -> None:
    program = (
        "from pathlib import Path; from skillopt.forecast.job_plan import start_evaluation; "
        "from skillopt.project import Selection; "
        "flags = {'harness': 'chat/anthropic/fake', 'max_minutes': 60}; "
        "print(start_evaluation(Selection('rows', flags, folder=Path('.'))).id)"
    )
    begun = subprocess.run([sys.executable, "-c", program], cwd=project, check=True, capture_output=True, text=True)
    assert held.asked.acquire(timeout=60)
    held.may.set()
    assert ended(project, begun.stdout.strip()).job.state is JobState.DONE


def test_a_proposal_job_commits_what_the_gate_takes(project: Path) -> None:
    report = ended(project, start_proposal(selection(project), EditsProposal.model_validate({"edits": [GOOD]})).id)
    assert (report.job.state, report.job.exit_code) == (JobState.DONE, 0), report.job
    assert "- Write e-mail addresses in lower case." in git(project, "show", "skillopt/rows:skills/rows/SKILL.md")
    assert any("accept" in line for line in report.events)


def test_cancelling_waits_for_the_calls_under_way_and_keeps_them(project: Path, held: HeldProvider) -> None:
    name = begin_held(project, held)
    assert cancel(name, folder=project).job.state is JobState.RUNNING
    held.may.set()
    report = ended(project, name)
    assert (report.job.state, report.job.exit_code) == (JobState.CANCELLED, 130)
    assert "start the same again" in report.next_step
    assert status(project)["rollouts"] == 1


@pytest.mark.process
def test_a_killed_job_is_lost_and_the_same_job_goes_on_without_paying_twice(project: Path, held: HeldProvider) -> None:
    held.left = 3
    name = begin_held(project, held)
    holder = project / ".skillopt" / "jobs" / name / "pid"
    os.kill(int(holder.read_text()), signal.SIGKILL)
    assert ended(project, name).job.state is JobState.LOST
    held.may.set()
    kept = status(project)["rollouts"]
    again = ended(project, start_evaluation(selection(project, harness="chat/anthropic/fake", max_minutes=60)).id)
    assert again.job.state is JobState.DONE
    assert 0 < kept < TASKS
    assert f"{TASKS - kept} rollouts newly run" in again.job.output


@pytest.mark.parametrize("name", ["../../etc", "20260101-000000-beef/../x"])
def test_an_unknown_job_is_refused_whatever_its_name(project: Path, name: str) -> None:
    with pytest.raises(UsageError, match="expected the id of a job"):
        job(name, folder=project)


def test_a_training_on_the_command_line_lets_no_job_that_trains_begin(project: Path) -> None:
    with writer_lock(project, "rows"), pytest.raises(BusyError, match="is training 'rows' already"):
        start_training(selection(project))
    assert jobs(folder=project) == ()


@pytest.mark.process
def test_the_command_line_lists_shows_and_cancels_jobs(project: Path, held: HeldProvider) -> None:
    name = begin_held(project, held)
    assert f"{name}  rows: evaluate, running" in skillopt(project, "jobs").stdout
    assert f"job {name}" in skillopt(project, "status").stdout
    assert skillopt(project, "jobs", name, "--cancel").returncode == 0
    held.may.set()
    shown = skillopt(project, "jobs", name, "--wait", "60", "--json")
    assert json.loads(shown.stdout)["job"]["state"] == "cancelled"
    assert skillopt(project, "jobs", "nope").returncode == 2


@pytest.mark.process
def test_a_second_job_for_the_same_skill_is_refused_and_names_the_first(project: Path, held: HeldProvider) -> None:
    name = begin_held(project, held)
    with pytest.raises(BusyError, match=name):
        start_evaluation(selection(project))
    held.may.set()
    assert ended(project, name).job.state is JobState.DONE
    assert ended(project, start_evaluation(selection(project)).id).job.state is JobState.DONE
