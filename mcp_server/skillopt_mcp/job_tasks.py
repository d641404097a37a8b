"""The Tasks extension of MCP (SEP-2663): a call that waits for a job becomes a task, where the client declares it.

The SDK has no runtime for it. A task is the job itself, by the same id: its state is read from the job's folder, so it
outlives client and server as the job does. Nothing is asked of the client, so there is no input to update.
"""

from functools import partial
from pathlib import Path
from typing import Any, Final

from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY, CallToolResult, RequestParams, TextContent

from skillopt.errors import UsageError
from skillopt.runs.job_report import JobReport, cancel, job
from skillopt_mcp.job_tools import JobAnswer

__all__ = ["TASKS", "JobTasks", "TaskParams", "TaskUpdateParams", "as_task", "takes_tasks"]

TASKS: Final = "io.modelcontextprotocol/tasks"
_EVERY_MS: Final = 2_000
_STATES: Final = {"running": "working", "cancelled": "cancelled"}
_Context = ServerRequestContext[Any, Any]
_Result = dict[str, Any]


class TaskParams(RequestParams):
    """Parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str


class TaskUpdateParams(TaskParams):
    """Parameters of `tasks/update`."""

    input_responses: dict[str, Any]


def takes_tasks(ctx: _Context) -> bool:
    """Return whether a request came with the extension declared, without which no task may be answered."""
    declared = ctx.session.client_capabilities
    return declared is not None and TASKS in (declared.extensions or {})


async def as_task(answer: JobAnswer) -> _Result | None:
    """Return a task in place of the answer to a start that would wait; None where there is nothing to wait for.

    A look at a job is no task: whoever cancels a look does not mean the job.
    """
    if not answer.seconds or not answer.head:
        return None
    found = await to_thread.run_sync(partial(job, answer.job_id, folder=answer.root))
    return {**_task(found), "resultType": "task"} if _status(found) == "working" else None


class JobTasks:
    """Answers about the tasks of a project."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def get(self, ctx: _Context, params: TaskParams) -> _Result:
        """Answer `tasks/get`: the task, and when its job has ended, the answer of the call."""
        _expect_declared(ctx)
        found = await self._find(params)
        if _status(found) != "completed":
            return _task(found)
        root, name = self._folder, found.job.id
        report = await to_thread.run_sync(JobAnswer(root, name, 0, "").text)
        text = "\n\n".join((*found.job.terms.words, report))
        result = CallToolResult(content=[TextContent(text=text)])
        return {**_task(found), "result": result.model_dump(mode="json", by_alias=True, exclude_none=True)}

    async def cancel(self, ctx: _Context, params: TaskParams) -> _Result:
        """Answer `tasks/cancel`."""
        _expect_declared(ctx)
        found = await self._find(params)
        await to_thread.run_sync(partial(cancel, found.job.id, folder=self._folder))
        return {}

    async def update(self, ctx: _Context, params: TaskUpdateParams) -> _Result:
        """Answer `tasks/update`; no task asks for input."""
        _expect_declared(ctx)
        await self._find(params)
        return {}

    async def _find(self, params: TaskParams) -> JobReport:
        try:
            return await to_thread.run_sync(partial(job, params.task_id, folder=self._folder))
        except UsageError as error:
            raise MCPError(INVALID_PARAMS, f"expected the id of a task, found {params.task_id[:40]!r}") from error


def _expect_declared(ctx: _Context) -> None:
    if not takes_tasks(ctx):
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"expected a client that declares {TASKS}",
            {"requiredCapabilities": {"extensions": {TASKS: {}}}},
        )


def _status(found: JobReport) -> str:
    return _STATES.get(found.job.state.value, "completed")


def _task(found: JobReport) -> _Result:
    one = found.job
    line = found.line or next(reversed(one.terms.words), "")  # the limits in force, until there is something to tell
    said = {"statusMessage": line} if line else {}
    return {
        "taskId": one.id,
        "status": _status(found),
        **said,
        "createdAt": one.created_at,
        "lastUpdatedAt": one.ended_at or one.created_at,
        "ttlMs": None,
        "pollIntervalMs": _EVERY_MS,
    }
