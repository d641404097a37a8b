"""MCP tools of an agent that proposes edits itself: evidence and proposals.

Each is a function of the project's folder and the model's arguments, answered in Markdown. Text of tasks, traces and
models is quoted, for it is data to whoever reads it.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from skillopt.commands import evidence as packet
from skillopt.commands.jobs import JobLimits, start_proposal
from skillopt.commands.propose import EditsProposal, ProposalEdit, RefusedEdit, check
from skillopt_mcp.catalogue import selection_of
from skillopt_mcp.job_tools import (
    UNTRUSTED,
    JobAnswer,
    MinutesCap,
    RolloutsCap,
    StartText,
    UsdCap,
    WaitSeconds,
    started,
)
from skillopt_mcp.pages import paginate, quoted
from skillopt_mcp.version_tools import Page, SkillName

__all__ = ["get_evidence_tool", "propose_edits_tool"]

_PROPOSER = "the agent that asked"


def get_evidence_tool(folder: Path, name: SkillName, start: StartText = "auto", page: Page = 1) -> str:
    """Show the reflection packet: the skill, what failed and what passed on train tasks, what was tried."""
    found = packet.evidence(selection_of(folder, name), start=start)
    changed = f", {found.token_budget} changed tokens" if found.token_budget else ""
    measured = len(found.failing) + len(found.passing)
    budget = (
        f"Propose at most {found.edit_budget} edits{changed}, with this base. {found.looks} proposals were measured on "
        "this suite so far; the more, the less a single verdict says."
    )
    head = [
        f"# Evidence for {found.skill}, base `{found.base}`",
        budget,
        f"{measured} of {found.tasks} train tasks are measured; {len(found.failing)} failed at least once.",
    ]
    if not measured:
        head.append("Nothing is measured yet: call start_job with work=evaluate and split=train first.")
    sections = ", ".join(f"`{title}`" for title in found.sections) or "none"
    parts = [
        *head,
        f"## The skill\n\nAn anchor is any text of its body that occurs once. Sections: {sections}.",
        quoted(found.text, "markdown"),
        f"## Tried before and not taken\n\n{UNTRUSTED}\n\n{quoted(chr(10).join(found.rejected) or '(nothing yet)')}",
        *([f"## Notes of earlier optimizers\n\n{quoted(found.memory)}"] if found.memory else []),
        *(_shown(one) for one in (*found.failing, *found.passing)),
    ]
    return paginate("\n\n".join(parts), page)


def propose_edits_tool(
    folder: Path,
    name: SkillName,
    base: Annotated[str, Field(description="The base that get_evidence showed.", min_length=12, max_length=64)],
    edits: Annotated[list[ProposalEdit], Field(description="A few small edits.", min_length=1, max_length=16)],
    start: StartText = "auto",
    max_usd: UsdCap = 0.0,
    max_rollouts: RolloutsCap = 0,
    max_minutes: MinutesCap = 0.0,
    wait_seconds: WaitSeconds = 0,
) -> str | JobAnswer:
    """Check edits, then try them as a job: together, then each left out, and what is needed at the gate."""
    selection = selection_of(folder, name)
    offered = EditsProposal(edits=tuple(edits), base=base, proposer=_PROPOSER)
    refused = check(selection, offered, start=start)
    if refused:
        return _refusal(refused, len(edits))
    limits = JobLimits(max_usd=max_usd, max_rollouts=max_rollouts, max_minutes=max_minutes)
    return started(folder, start_proposal(selection, offered, start=start, limits=limits).id, name, wait_seconds)


def _refusal(refused: tuple[RefusedEdit, ...], edits: int) -> str:
    found = (f"## Edit {one.number}: not possible\n\n{quoted(one.edit)}\n\n{_line(one.reason)}" for one in refused)
    head = f"Nothing was tried and nothing was spent: {len(refused)} of {edits} edits cannot be tried."
    step = "Next: mend or drop what is named above, and propose all edits again."
    return "\n\n".join([head, *found, step])


def _shown(one: packet.ShownTask) -> str:
    return f"## Task `{one.task}`: passed {one.passed} of {one.repeats} repeats\n\n{quoted(one.text)}"


def _line(text: str) -> str:
    return " ".join(text.split())
