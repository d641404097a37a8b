"""One walk over stdio: from the registration of the server to an accepted version, on few tasks without splits."""

import os
import re
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.fakes.mcp_clients import install_server, say
from tests.fakes.projects import git, make_unsplit_project

pytestmark = [pytest.mark.anyio, pytest.mark.process]

README = Path(__file__).resolve().parents[2] / "README.md"
TASKS = 14
RULES = {"email": "- Write e-mail addresses in lower case.", "date": "- Write dates as YYYY-MM-DD."}


def registered(folder: Path, programs: Path) -> StdioServerParameters:
    """Return what a client keeps of the line with which the README registers the server."""
    install_server(programs / "skillopt-mcp")
    (line,) = (line for line in README.read_text().splitlines() if line.startswith("claude mcp add"))
    command, *arguments = line.partition("#")[0].partition(" -- ")[2].split()
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    return StdioServerParameters(command=command, args=arguments, env={"PATH": path}, cwd=folder)


def edits_from(evidence: str) -> list[dict[str, object]]:
    """Propose a rule for each column that the table of failures names, citing the tasks of its rows."""
    rows = [line.split(" | ") for line in evidence.splitlines() if " | " in line]
    edits: list[dict[str, object]] = []
    for column, rule in RULES.items():
        cited = [name.split()[0] for row in rows if f'column "{column}"' in row[-1] for name in row[1].split(", ")]
        edits.append({"op": "add", "section": "Values", "content": rule, "tasks": cited[:4]})
    return edits


async def waited(client: Client, told: str) -> str:
    """Wait for the job that an answer names, and give its report."""
    (job,) = set(re.findall(r"\d{8}-\d{6}-[0-9a-f]{4}", told))
    while "Next:" not in told or ": running" in told:
        told = await say(client, "job_status", job_id=job, wait_seconds=50)
    return told


async def test_a_client_comes_from_registration_to_an_accepted_version_on_14_tasks_without_splits(
    tmp_path: Path,
) -> None:
    folder = make_unsplit_project(tmp_path / "project", TASKS)
    async with Client(registered(folder, tmp_path / "programs")) as client:
        assert "| rows |" in await say(client, "list_skills")
        assert "call start_job with work=evaluate and split=train" in await say(client, "get_evidence", name="rows")
        measured = await waited(client, await say(client, "start_job", name="rows", work="evaluate", wait_seconds=50))
        assert ": done" in measured
        assert f"of {TASKS} tasks passed" in measured
        evidence = await say(client, "get_evidence", name="rows")
        assert "7 of 7 train tasks of fold 1 are measured" in evidence
        (base,) = re.findall(r"base `([0-9a-f]{12})`", evidence)
        told = await say(client, "propose_edits", name="rows", base=base, edits=edits_from(evidence), wait_seconds=50)
        report = await waited(client, told)
    assert git(folder, "rev-parse", "skillopt/rows")[:10] in report
    assert "Grade: proven" in git(folder, "log", "-1", "--format=%B", "skillopt/rows")
