"""The list of MCP tools, and annotations of what each does to the world; their functions say the rest.

It never changes while the server runs.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from mcp_types import ToolAnnotations

from skillopt_mcp.job_tools import JobAnswer, answer_with_news, cancel_job_tool, job_status_tool, start_job_tool
from skillopt_mcp.training_tools import get_evidence_tool, propose_edits_tool
from skillopt_mcp.version_tools import list_skills_tool, read_skill_tool, rollback_skill_tool


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that is offered; the docstring of its function describes it to the model."""

    call: Callable[..., str | JobAnswer]
    title: str
    annotations: ToolAnnotations

    follow = staticmethod(answer_with_news)
    """Waits for the job of an answer, and gives its news."""

    @property
    def name(self) -> str:
        """The name by which clients call the tool."""
        return self.call.__name__.removesuffix("_tool")

    @property
    def description(self) -> str:
        """What the model reads of the tool."""
        return " ".join((inspect.getdoc(self.call) or "").split())


def _hints(*, reads: bool = False, destroys: bool = False, again: bool = False, runs: bool = False) -> ToolAnnotations:
    return ToolAnnotations(read_only_hint=reads, destructive_hint=destroys, idempotent_hint=again, open_world_hint=runs)


TOOLS: tuple[ToolDefinition, ...] = (
    ToolDefinition(list_skills_tool, "List skills and versions", _hints(reads=True, again=True)),
    ToolDefinition(read_skill_tool, "Read a skill", _hints(reads=True, again=True)),
    ToolDefinition(start_job_tool, "Start a job", _hints(runs=True)),
    ToolDefinition(job_status_tool, "Look at a job", _hints(reads=True, again=True)),
    ToolDefinition(cancel_job_tool, "Cancel a job", _hints(destroys=True)),
    # It writes down which tasks were shown, and spends nothing.
    ToolDefinition(get_evidence_tool, "Read the evidence", _hints(again=True)),
    ToolDefinition(propose_edits_tool, "Propose edits", _hints(runs=True)),
    ToolDefinition(rollback_skill_tool, "Roll a skill back", _hints(destroys=True)),
)
"""All tools, in the order in which they are listed."""
