"""The list of MCP tools: titles, descriptions for the model, and annotations of what each does to the world.

It never changes while the server runs.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mcp_types import ToolAnnotations

from skillopt_mcp.job_tools import JobAnswer, cancel_job_tool, job_status_tool, start_job_tool
from skillopt_mcp.training_tools import get_evidence_tool, propose_edits_tool
from skillopt_mcp.version_tools import list_skills_tool, read_skill_tool, rollback_skill_tool

__all__ = ["TOOLS", "ToolDefinition"]

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
# It writes down which tasks were shown, and spends nothing.
_NOTES_WHAT_IT_SHOWS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_RUNS_TARGET = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True
)
_ENDS_JOB = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)
_MOVES_BRANCH = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that is offered."""

    call: Callable[..., str | JobAnswer]
    title: str
    description: str
    annotations: ToolAnnotations

    @property
    def name(self) -> str:
        """The name by which clients call the tool."""
        return self.call.__name__.removesuffix("_tool")


TOOLS: tuple[ToolDefinition, ...] = (
    ToolDefinition(
        list_skills_tool,
        "List skills and versions",
        "List the skills of this project: accepted versions, scores, which have a suite of tasks; with `name`, all "
        "versions of one and its draft. Call this first; where something is missing it says how to begin.",
        _READS,
    ),
    ToolDefinition(
        read_skill_tool,
        "Read a skill",
        "Read a file of an accepted version of a skill, SKILL.md of the newest by default; with `since`, "
        "what changed since an older version. `version=draft` shows the draft that waits for a person.",
        _READS,
    ),
    ToolDefinition(
        start_job_tool,
        "Start a job",
        "Measure a skill (evaluate) or train it with the project's optimizer model (optimize), in its own process. "
        "Gives the job's id at once. Runs the target, which may cost money: agree on limits with the user first.",
        _RUNS_TARGET,
    ),
    ToolDefinition(
        job_status_tool,
        "Look at a job",
        "Get a job's progress, verdicts, spending and next step: at once where there is news, else after wait_seconds. "
        "Without an id, list the newest jobs.",
        _READS,
    ),
    ToolDefinition(
        cancel_job_tool,
        "Cancel a job",
        "End a job. The first time it waits for the calls under way, which are paid for; a second time it drops them. "
        "What was answered is kept, and starting the same again continues.",
        _ENDS_JOB,
    ),
    ToolDefinition(
        get_evidence_tool,
        "Read the evidence",
        "What you need to propose edits of a skill: its text, budgets, a table of train tasks by failure, examples, "
        "what was tried before; with `tasks`, their whole runs. Measures nothing: evaluate on train first.",
        _NOTES_WHAT_IT_SHOWS,
    ),
    ToolDefinition(
        propose_edits_tool,
        "Propose edits",
        "Propose a few edits of a skill. They are checked at once; then a job tries them together on the failing tasks "
        "they cite, leaves each out to see whether it is needed, and gates the rest on tasks you never see. What is "
        "accepted is committed to the skill's branch.",
        _RUNS_TARGET,
    ),
    ToolDefinition(
        rollback_skill_tool,
        "Roll a skill back",
        "Publish an older accepted version of a skill as a new commit on its branch. Nothing is deleted, but every "
        "reader of the skill gets the older text. Ask the user first.",
        _MOVES_BRANCH,
    ),
)
"""All tools, in the order in which they are listed."""
