"""Kill -9, Ctrl-C and jobs: what was paid for is kept, and the same command goes on without paying twice."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from skillopt.errors import UsageError
from skillopt.project import Selection
from skillopt.rollouts import Reply, Rollout
from skillopt.runs.jobs import start_evaluation
from skillopt.storage.jobs import Job, JobState, find_job, wait_for_job
from skillopt.storage.ledger import Ledger, unpack_answer
from skillopt.storage.locks import is_unreported
from tests.fakes.held_provider import HeldProvider, HeldRun, held_run, read_until
from tests.fakes.projects import git, make_project, skillopt, skillopt_process, unmeasured
from tools.fake_providers.fake_anthropic import fake_anthropic

pytestmark = pytest.mark.process

WORKERS = 4
BRANCH = "refs/heads/skillopt/rows"
COMMAND = (
    *("optimize", "rows", "--json", "--set", f"workers={WORKERS}"),
    # One rule at a time, so that there are several versions.
    *("--set", "preset=paper", "--set", "edit_budget=1"),
)


@dataclass(frozen=True)
class Ended:
    """What a finished run left: versions as (tree, message), events, recorded calls."""

    versions: list[tuple[str, str]]
    events: list[tuple[str, str]]
    calls: dict[str, Rollout | Reply]


@dataclass(frozen=True)
class Reference:
    """A project before any run, the seed to train it with, and what a run without a kill comes to."""

    pristine: Path
    seed: str
    ended: Ended


def recorded(folder: Path) -> dict[str, Rollout | Reply]:
    """Return the recorded calls by key."""
    path = folder / ".skillopt" / "ledger.db"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as database:
        shapes = {"rollout": Rollout, "reply": Reply}
        rows = database.execute("SELECT key, kind, payload FROM calls").fetchall()
        return {key: unpack_answer(packed, shapes[kind]) for key, kind, packed in rows}


def look(folder: Path) -> Ended:
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        (run,) = ledger.runs()
        assert run.state == "finished"
        events = [(event.kind, event.payload) for event in ledger.events(run.id)]
    shas = git(folder, "rev-list", f"main..{BRANCH}").split()
    versions = [
        (git(folder, "rev-parse", f"{sha}^{{tree}}"), git(folder, "log", "-1", "--format=%B", sha)) for sha in shas
    ]
    return Ended(versions, events, recorded(folder))


def tips(folder: Path) -> list[str]:
    """List the commits of the branch, newest first."""
    return git(folder, "rev-list", BRANCH).split() if git(folder, "for-each-ref", BRANCH) else []


def deadly_git(folder: Path, step: str, moment: str) -> str:
    """Return a PATH whose git kills whoever starts it, before or after one of its commands; never for this process."""
    real = shutil.which("git")
    deed = {"before": "kill -9 $PPID; exit 1", "after": f'"{real}" "$@"; kill -9 $PPID; exit 1'}[moment]
    (folder / "tools").mkdir()
    script = folder / "tools" / "git"
    script.write_text(f'#!/bin/sh\ncase " $* " in *" {step} "*) {deed};; esac\nexec "{real}" "$@"\n')
    script.chmod(0o755)
    return f"{script.parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Train without a kill, with the first seed that gives two versions."""
    pristine = make_project(tmp_path_factory.mktemp("pristine") / "project")
    for seed in map(str, range(12)):
        folder = shutil.copytree(pristine, tmp_path_factory.mktemp("whole") / "project")
        ended = skillopt_process(folder, *COMMAND, "--set", f"seed={seed}")
        if len(json.loads(ended.stdout)["versions"]) > 1:
            return Reference(pristine, seed, look(folder))
    raise AssertionError("no seed of twelve gave two versions")


@pytest.fixture
def project(tmp_path: Path, reference: Reference) -> Path:
    return shutil.copytree(reference.pristine, tmp_path / "project")


@pytest.mark.parametrize(("step", "moment"), [("commit-tree", "before"), ("update-ref", "after")])
def test_a_kill_between_the_event_and_the_end_of_its_commit_is_made_good(
    tmp_path: Path, project: Path, reference: Reference, step: str, moment: str
) -> None:
    killed = skillopt_process(
        project, *COMMAND, "--set", f"seed={reference.seed}", PATH=deadly_git(tmp_path, step, moment)
    )
    assert killed.returncode == -signal.SIGKILL
    with closing(Ledger.open(project, read_only=True)) as ledger:
        (record,) = ledger.runs()
        assert ledger.events(record.id)[-1].kind == "VersionAccepted"
    committed = tips(project)
    assert bool(committed) is (moment == "after")
    ended = skillopt_process(project, *COMMAND, "--set", f"seed={reference.seed}")
    assert ended.returncode == 0, ended.stderr
    assert look(project) == reference.ended
    assert set(committed) <= set(tips(project))


def test_a_run_that_was_killed_after_its_last_event_is_shown_and_no_other_begins(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    command = ("optimize", "rows", "--json", "--set", f"workers={WORKERS}")
    kill_before_the_result_is_printed(project, *command)
    with closing(Ledger.open(project, read_only=True)) as ledger:
        (run,) = ledger.runs()
    assert run.state == "finished"
    paid, versions = recorded(project), tips(project)
    shown = json.loads(skillopt_process(project, *command).stdout)
    assert (shown["run"], shown["versions"][::-1]) == (run.id, versions[: len(shown["versions"])])
    assert (shown["resumed"], shown["paid_rollouts"], shown["paid_calls"]) == (True, 0, 0)
    assert (recorded(project), tips(project)) == (paid, versions)
    assert not is_unreported(project, run.id)
    assert json.loads(skillopt_process(project, *command).stdout)["run"] != run.id


def kill_before_the_result_is_printed(folder: Path, *command: str) -> None:
    """Kill a command that has ended its run and cannot print the result, because nobody reads its full pipe."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.write(writing, bytes(2**20))  # as much of it as there is space for
    os.set_blocking(writing, True)
    arguments = [sys.executable, "-m", "skillopt", *command]
    with subprocess.Popen(arguments, cwd=folder, stdout=writing, stderr=subprocess.DEVNULL) as process:
        limit = Timer(120, process.kill)
        limit.start()
        while process.poll() is None and not has_finished(folder):
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        process.kill()
        limit.cancel()
    os.close(reading)
    os.close(writing)
    assert process.returncode == -signal.SIGKILL


def has_finished(folder: Path) -> bool:
    """Return whether the one run of a project is recorded as finished."""
    path = folder / ".skillopt" / "ledger.db"
    if not path.exists():
        return False
    with closing(sqlite3.connect(path)) as database, suppress(sqlite3.OperationalError):  # its tables are being made
        return database.execute("SELECT 1 FROM runs WHERE state = 'finished'").fetchone() is not None
    return False


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldRun]:
    """A training whose calls wait for the provider."""
    with held_run(make_project(tmp_path, tasks=6), monkeypatch, "optimize", "rows", "--yes") as run:
        yield run


def interrupt(run: HeldRun) -> None:
    """Press Ctrl-C: a terminal signals all processes of the group."""
    os.killpg(run.process.pid, signal.SIGINT)


def test_one_keeps_what_is_under_way_and_says_how_to_go_on(run: HeldRun, tmp_path: Path) -> None:
    interrupt(run)
    read_until(run.errors, "waiting for the calls under way")
    run.provider.may.set()
    assert "same command to continue" in run.errors.read()
    assert run.process.wait(60) == 130
    with closing(Ledger.open(tmp_path)) as ledger:
        assert ledger.counts()["rollout"] == 5  # the first one, which is made alone, and one for each worker
        assert ledger.runs()[0].state == "stopped"


def test_a_second_one_does_not_wait(run: HeldRun) -> None:
    interrupt(run)
    read_until(run.errors, "waiting for the calls under way")
    interrupt(run)
    assert "same command to continue" in run.errors.read()
    assert run.process.wait(60) == 130
    assert not run.provider.may.is_set()


@pytest.mark.parametrize(("module", "imported"), [("skillopt", "typer"), ("skillopt_mcp", "mcp")])
@pytest.mark.parametrize("lost", [False, True])
def test_while_modules_are_imported_ends_with_130_and_no_traceback(module: str, imported: str, *, lost: bool) -> None:
    press = "os.kill(os.getpid(), signal.SIGINT)"
    # Python prints what is raised where an object is removed, and goes on.
    press = f"type('Last', (), {{'__del__': lambda self: {press}}})()" if lost else press
    program = (
        "import os, runpy, signal, sys\n"
        "class Pressing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {imported!r}:\n"
        f"            {press}\n"
        "sys.meta_path.insert(0, Pressing())\n"
        f"sys.argv = ['x', *{['status'] if module == 'skillopt' else []}]\n"
        f"runpy.run_module({module!r}, run_name='__main__')\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], env=unmeasured(), check=False, capture_output=True, text=True, timeout=60
    )

    assert (ended.returncode, ended.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize("module", ["skillopt.commands.entry", "skillopt_mcp.__main__"])
def test_nothing_that_takes_long_is_imported_before_ctrl_c_is_heard(module: str) -> None:
    program = f"import sys; before = set(sys.modules); import {module}; print(*sorted(set(sys.modules) - before))"

    ended = subprocess.run(
        [sys.executable, "-c", program], env=unmeasured(), check=True, capture_output=True, text=True
    )

    ours = {module, module.rpartition(".")[0], "skillopt", "skillopt.execution", "skillopt.execution.interrupts"}
    assert set(ended.stdout.split()) - {"_signal"} == ours


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
