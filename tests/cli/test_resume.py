"""Kill -9 at a bad moment: the same command goes on, pays for nothing twice and ends with the same versions."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

import pytest

from skillopt.rollouts import Reply, Rollout
from skillopt.storage.ledger import Ledger
from skillopt.storage.notes import is_unreported
from skillopt.storage.payloads import Payloads
from tests.fakes.projects import git, make_project, skillopt_process

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
    """Return the recorded calls by key; what was recorded first decides how the others are compressed."""
    path = folder / ".skillopt" / "ledger.db"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as database:
        payloads, shapes = Payloads(database), {"rollout": Rollout, "reply": Reply}
        rows = database.execute("SELECT key, kind, payload FROM calls").fetchall()
        return {key: payloads.unpack(packed, shapes[kind]) for key, kind, packed in rows}


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
