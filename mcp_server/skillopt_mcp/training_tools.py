"""MCP tools of an agent that proposes edits itself: evidence and proposals.

Each is a function of the project's folder and the model's arguments, answered in Markdown. Text of tasks, traces and
models is quoted, for it is data to whoever reads it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from skillopt.runs import evidence as packet
from skillopt.runs.jobs import start_proposal
from skillopt.runs.proposal import MOST_EDITS, EditsProposal, ProposalEdit, RefusedEdit, check
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
from skillopt_mcp.skill_details import selection_of
from skillopt_mcp.version_tools import Page, SkillName

_PROPOSER = "the agent that asked"
_NO_TASKS: list[str] = []


def get_evidence_tool(
    folder: Path,
    name: SkillName,
    tasks: Annotated[
        list[Annotated[str, Field(max_length=200)]],
        Field(description="Train tasks to show whole, last run first; else a table of all.", max_length=64),
    ] = _NO_TASKS,
    start: StartText = "auto",
    page: Page = 1,
) -> str:
    """What you need to propose edits of a skill: its text, budgets, a table of train tasks by failure, examples, what
    was tried before; with `tasks`, their whole runs. Measures nothing: evaluate on train first.
    """
    found = packet.evidence(selection_of(folder, name), start=start, tasks=tasks)
    if not tasks:
        return paginate("\n\n".join(_overview(found)), page)
    shown = {task for task, _ in found.rollouts}
    missing = [task for task in dict.fromkeys(tasks) if task not in shown]
    parts = [f"# Runs of {found.skill}, base `{found.base}`"]
    parts += [f"Not measured yet: {', '.join(missing)}."] if missing else []
    return paginate("\n\n".join([*parts, UNTRUSTED, *(quoted(text) for _, text in found.rollouts)]), page)


def _overview(found: packet.TaskEvidence) -> Iterator[str]:
    yield f"# Evidence for {found.skill}, base `{found.base}`"
    changed = f", {found.token_budget} changed tokens" if found.token_budget else ""
    yield (
        f"Propose at most {found.edit_budget} edits{changed}, with this base. {found.looks} proposals on this suite "
        "were measured, or refused because they repeat text of tasks; the more, the less a single verdict says."
    )
    if found.waits:
        yield (
            "This is the draft that waits: edits go on from it, and all of it is judged against the text before. With "
            "start=branch or worktree they go on from that text, and the draft is replaced."
        )
    yield f"{len(found.measured)} of {found.tasks} train tasks are measured; {found.failing} failed at least once."
    if found.folded:
        yield (
            "The tasks are few, so all of them teach and all are run again to judge: a text is `proven here`, on these "
            "very tasks, at most."
        )
    if not found.measured:
        of = " and of=draft" if found.waits else ""
        yield f"Nothing is measured yet: call start_job with work=evaluate, split=train{of} first."
    sections = ", ".join(f"`{title}`" for title in found.sections) or "none"
    yield f"## The skill\n\nAn anchor is any text of its body that occurs once. Sections: {sections}."
    yield quoted(found.text, "markdown")
    if found.refused:
        rule = "Propose neither these nor the same in other words; ask the user where you think that one is needed."
        yield f"## Refused by people\n\n{rule}\n\n{UNTRUSTED}\n\n{quoted(chr(10).join(found.refused))}"
    yield f"## Tried before and not taken\n\n{UNTRUSTED}\n\n{quoted(chr(10).join(found.rejected) or '(nothing yet)')}"
    if found.measured:
        yield f"## Train tasks\n\n{quoted(found.table)}"
    yield from (f"## A run of `{task}`\n\n{quoted(text)}" for task, text in found.rollouts)
    if found.measured:
        yield (
            f"{len(found.rollouts)} of {max(one.group for one in found.measured)} groups of failures have a run above. "
            "For whole runs of any tasks call get_evidence again with `tasks`."
        )


def propose_edits_tool(
    folder: Path,
    name: SkillName,
    base: Annotated[str, Field(description="The base that get_evidence showed.", min_length=12, max_length=64)],
    edits: Annotated[
        list[ProposalEdit],
        Field(description="A few edits, each a rule, a block or a section.", min_length=1, max_length=MOST_EDITS),
    ],
    start: StartText = "auto",
    max_usd: UsdCap = None,
    max_rollouts: RolloutsCap = None,
    max_minutes: MinutesCap = None,
    wait_seconds: WaitSeconds = 0,
) -> str | JobAnswer:
    """Propose a few edits of a skill. Checked at once; then a job tries them on the failing tasks they cite, leaves
    each out, and gates the rest with the draft that waits, on val tasks you never see, or by new runs of all where
    they are few. What is accepted is committed to the branch.
    """
    selection = selection_of(folder, name)
    offered = EditsProposal(edits=tuple(edits), base=base, proposer=_PROPOSER)
    refused = check(selection, offered, start=start)
    if refused:
        return _refusal(refused, len(edits))
    limits = {"max_usd": max_usd, "max_rollouts": max_rollouts, "max_minutes": max_minutes}
    return started(folder, start_proposal(selection, offered, start=start, limits=limits), wait_seconds)


def _refusal(refused: tuple[RefusedEdit, ...], edits: int) -> str:
    found = (
        f"## Edit {one.number}: not possible\n\n{quoted(one.edit)}\n\n{quoted(' '.join(one.reason.split()))}"
        for one in refused
    )
    head = f"Nothing was tried and nothing was spent: {len(refused)} of {edits} edits cannot be tried."
    if any(one.look for one in refused):
        head += " It repeats text of tasks, and a refusal tells of that text, so this counts as a look at the tasks."
    step = "Next: mend or drop what is named above, and propose all edits again."
    return "\n\n".join([head, *found, step])
