"""Example page: calls of the MCP tools that models get wrong, and what they are told, by the real server."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
from mcp import Client
from mcp_types import TextContent

from skillopt.storage.jobs import list_jobs
from skillopt_mcp.pages import table
from skillopt_mcp.server import make_server
from tests.fakes.projects import make_project

_NOTE: Final = """\
> Each call was made to the real server by `python -m tools.generate_examples`; a test makes them again and looks that
> nothing was started. The project has the skill `rows` with 8 train and 8 val tasks, the harness `demo`, and no cap."""

_EDIT: Final = {"op": "add", "section": "Values", "content": "- Write dates as YYYY-MM-DD.", "tasks": ["train0"]}
_BASE: Final = "0" * 12
_LONGEST: Final = 100


@dataclass(frozen=True, slots=True)
class WrongCall:
    """A call that a model gets wrong."""

    mistake: str
    tool: str
    arguments: Mapping[str, object]


CALLS: Final = (
    WrongCall("a guessed name for a limit", "start_job", {"name": "rows", "max_cost_usd": 0.5}),
    WrongCall("the same, with another limit", "start_job", {"name": "rows", "budget": 1, "timeout_minutes": 10}),
    WrongCall("a limit as text", "start_job", {"name": "rows", "max_usd": "$5"}),
    WrongCall("a limit below zero", "start_job", {"name": "rows", "max_minutes": -1}),
    WrongCall("a cap that one evaluation does not fit", "start_job", {"name": "rows", "max_rollouts": 3}),
    WrongCall(
        "a cap under which training could gate nothing",
        "start_job",
        {"name": "rows", "work": "optimize", "max_rollouts": 10},
    ),
    WrongCall("work that there is not", "start_job", {"name": "rows", "work": "train"}),
    WrongCall("the held-out split", "start_job", {"name": "rows", "split": "test"}),
    WrongCall("a draft where none waits", "start_job", {"name": "rows", "of": "draft"}),
    WrongCall("a path in place of a name", "start_job", {"name": "skills/rows"}),
    WrongCall("no skill", "start_job", {}),
    WrongCall("a wait longer than clients allow", "job_status", {"job_id": "x", "wait_seconds": 600}),
    WrongCall("another name for the id", "job_status", {"id": "20260101-000000-beef"}),
    WrongCall("a job that there is not", "cancel_job", {"job_id": "20260101-000000-beef"}),
    WrongCall("evidence of `val`", "get_evidence", {"name": "rows", "split": "val"}),
    WrongCall("a page past the end", "get_evidence", {"name": "rows", "page": 99}),
    WrongCall("edits for an older text", "propose_edits", {"name": "rows", "base": _BASE, "edits": [_EDIT]}),
    WrongCall("no base", "propose_edits", {"name": "rows", "edits": [_EDIT]}),
    WrongCall("no edits", "propose_edits", {"name": "rows", "base": _BASE, "edits": []}),
    WrongCall(
        "an operation that there is not",
        "propose_edits",
        {"name": "rows", "base": _BASE, "edits": [{**_EDIT, "op": "insert"}]},
    ),
    WrongCall(
        "another name inside an edit",
        "propose_edits",
        {"name": "rows", "base": _BASE, "edits": [_EDIT, {**_EDIT, "task_ids": ["train1"]}]},
    ),
    WrongCall("edits as a sentence", "propose_edits", {"name": "rows", "base": _BASE, "edits": "add a rule for dates"}),
    WrongCall("a skill that there is not", "read_skill", {"name": "row"}),
    WrongCall("a version that there is not", "rollback_skill", {"name": "rows", "version": "main"}),
)
"""The calls, by tool."""


def make_tool_mistakes(folder: Path) -> dict[str, str]:
    """Make every call in a project, and give the page by its name."""
    make_project(folder)
    answers = anyio.run(_answers, folder)
    if list_jobs(folder):
        raise ValueError("expected that no call starts a job, found one")
    rows = [
        (one.mistake, f"`{one.tool}` `{_shown(one.arguments)}`", answer.replace(str(folder), "PROJECT"))
        for one, answer in zip(CALLS, answers, strict=True)
    ]
    head = "# Calls that models get wrong, and what they are told"
    told = table(("mistake", "call", "answer"), rows)
    return {"tool-mistakes.md": f"{head}\n\n{_NOTE}\n\n{told}\n"}


async def _answers(folder: Path) -> list[str]:
    found = []
    async with Client(make_server(folder)) as client:
        for one in CALLS:
            result = await client.call_tool(one.tool, dict(one.arguments))
            (content,) = result.content
            if not result.is_error or not isinstance(content, TextContent):
                raise ValueError(f"expected that {one.tool} refuses {one.arguments}, found an answer")
            found.append(content.text)
    return found


def _shown(arguments: Mapping[str, object]) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
