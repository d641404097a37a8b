"""Twelve tasks that name no split, walked by an agent through the server: both rules at once, and in two rounds."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from skillopt.storage.jobs import wait_for_job
from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import say
from tests.fakes.projects import git, make_unsplit_project, skillopt

pytestmark = [pytest.mark.anyio, pytest.mark.process]

TASKS = 12
RULES = {"email": "- Write e-mail addresses in lower case.", "date": "- Write dates as YYYY-MM-DD."}


async def run(client: Client, folder: Path, tool: str, **arguments: object) -> tuple[str, int]:
    """Start a job, wait for its end, and give its report and the rollouts that it paid for."""
    (name,) = re.findall(r"Job `([^`]+)`", await say(client, tool, name="rows", **arguments))
    wait_for_job(folder, name, 120)
    told = await say(client, "job_status", job_id=name)
    return told, int(re.findall(r"- target: (\d+) calls", told)[0])


def propose(evidence: str, *columns: str) -> Mapping[str, Any]:
    """Propose the rules for columns that the table of the evidence names, citing the tasks of their rows."""
    edits = []
    for column in columns:
        rows = [line.split(" | ") for line in evidence.splitlines() if f'column "{column}"' in line and " | " in line]
        cited = [name.split()[0] for row in rows for name in row[1].split(", ")]
        edits.append({"op": "add", "section": "Values", "content": RULES[column], "tasks": cited[:4]})
    return {"base": re.findall(r"base `([0-9a-f]{12})`", evidence)[0], "edits": edits}


@pytest.mark.parametrize("rounds", [[("email", "date")], [("email",), ("date",)]], ids=["at once", "in two rounds"])
async def test_both_rules_of_an_agent_come_to_a_draft_that_is_proven_here(
    tmp_path: Path, rounds: list[tuple[str, ...]]
) -> None:
    folder = make_unsplit_project(tmp_path / "project", TASKS)
    async with Client(make_server(folder)) as client:
        told, rollouts = await run(client, folder, "start_job")
        for columns in rounds:
            evidence = await say(client, "get_evidence", name="rows")
            told, paid = await run(client, folder, "propose_edits", **propose(evidence, *columns))
            rollouts += paid
        listed = await say(client, "list_skills"), await say(client, "list_skills", name="rows")
    assert not any("|  |" in text for text in listed)
    assert rollouts <= 70
    assert "11 of 12 tasks passed" in listed[1]
    assert "; proven here." in listed[1]
    assert "skillopt take" in told.rpartition("Next: ")[2]
    assert rollouts <= 70
    taken = skillopt(folder, "take", "rows")
    assert taken.returncode == 0, taken.stderr
    text = git(folder, "show", "skillopt/rows:skills/rows/SKILL.md")
    assert all(rule in text for rule in RULES.values())
