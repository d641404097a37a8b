"""A real client that is killed in the middle of a call: nothing is half-written, and the next session goes on."""

import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.storage.jobs import JobState, list_jobs
from tests.agents.sessions import WAYS, client_settings, client_variables, make_place, set_up
from tests.fakes.host_player import GOOD_RULE, Step
from tests.fakes.host_wires import play_host
from tests.fakes.projects import git

pytestmark = pytest.mark.agents

WAY = WAYS["claude-code, registered"]


def put_deadly_git(place: Path) -> Path:
    """Put a `git` on the client's PATH that kills the client, the server and itself when a file says whom."""
    whom, program = place / "whom", place / "programs" / "git"
    program.write_text(
        f"""#!/bin/sh
if mv '{whom}' '{whom}.taken' 2>/dev/null; then kill -9 "-$(cat '{whom}.taken')"; fi
exec '{shutil.which("git")}' "$@"
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return whom


def kill_at_proposal(program: str, place: Path) -> int:
    """Have a session whose client is killed when the server works on edits that can be tried; give how it ended."""
    whom, groups = put_deadly_git(place), list[int]()
    proposals = list[Step]()

    def told(step: Step) -> None:
        proposals.extend([step] if step.tool == "propose_edits" else [])
        if len(proposals) == 2:  # the first one is refused for an anchor that is not there
            whom.write_text(str(groups[0]), encoding="utf-8")

    with play_host(WAY.client, told) as provider:
        set_up(program, WAY, place, provider.url)
        client = subprocess.Popen(
            [program, *WAY.command, *client_settings(WAY, provider.url)],
            cwd=place / "project",
            env=client_variables(place, provider.url),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        groups.append(client.pid)
        try:
            return client.wait(timeout=120)
        finally:
            if client.poll() is None:
                os.killpg(client.pid, signal.SIGKILL)
                client.wait()


def test_a_client_killed_in_the_middle_of_propose_edits_leaves_nothing_half_written(
    agent: Callable[[str], str], tmp_path: Path
) -> None:
    program, place = agent(WAY.client), make_place(tmp_path)
    project = place / "project"
    assert kill_at_proposal(program, place) == -signal.SIGKILL
    assert (place / "whom.taken").exists()
    assert [(job.command[0], job.state) for job in list_jobs(project)] == [("evaluate", JobState.DONE)]
    assert [path for path in (project / ".skillopt").rglob("*") if path.name.endswith((".new", ".tmp"))] == []
    with closing(sqlite3.connect(project / ".skillopt" / "ledger.db")) as ledger:
        assert ledger.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    git(project, "fsck", "--strict")

    with play_host(WAY.client) as provider:
        variables = client_variables(place, provider.url)
        ended = subprocess.run(
            [program, *WAY.command],
            cwd=project,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    assert ended.returncode == 0, ended.stderr
    assert GOOD_RULE in git(project, "show", "skillopt/rows:skills/rows/SKILL.md")
    assert [(job.command[0], job.state) for job in list_jobs(project)] == [
        ("propose", JobState.DONE),
        ("evaluate", JobState.DONE),
        ("evaluate", JobState.DONE),
    ]
