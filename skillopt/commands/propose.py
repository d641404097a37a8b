"""The job `propose`: edits that an agent proposed through the MCP server are tested, gated and committed."""

from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import SetOption, SkillArgument, StartOption, SuiteOption, flags_of
from skillopt.commands.output import draft_lines, interruptible, news_of_run, used_lines
from skillopt.commands.progress import ProgressObserver
from skillopt.figures import comparison_words
from skillopt.project import Selection
from skillopt.runs.proposal import ProposalResult, parse_proposal
from skillopt.runs.proposal import propose as run


def propose(
    edits: Annotated[Path, typer.Argument()],
    skill: SkillArgument = None,
    *,
    start: StartOption = "auto",
    suite: SuiteOption = None,
    settings: SetOption = None,
) -> None:
    """Test, gate and commit the edits of a file; ends with 1 if nothing comes of them, with 2 if one cannot be tried.

    What waits as a draft that is offered is no failure.
    """
    selection = Selection(skill, flags_of(settings), suite)
    with interruptible(), ProgressObserver(proposal=True) as observer:
        found = run(selection, parse_proposal(edits), start=start, observer=observer)
    _, shown = news_of_run(selection, [found.version] if found.version else [])
    typer.echo("\n".join([*shown, _text(found)]))
    if not found.version and not (found.draft and found.draft.offered):
        raise typer.Exit(2 if found.refused else 1)


def _text(result: ProposalResult) -> str:
    if result.refused:
        lines = [f"edit {one.number} refused: {one.edit}: {one.reason}" for one in result.refused]
        return "\n".join([*lines, result.reason])
    lines = [f"Run {result.run} tested the edits on {result.skill}."]
    lines += [f"edit {one.edit.id[1:]} dropped: {one.reason}: {one.edit.summary}" for one in result.dropped]
    lines += [
        f"edit {one.edit.id[1:]} {'kept' if one.kept else 'dropped'}: {one.reason}: {one.edit.summary}"
        for one in result.ablations
    ]
    verdict, draft = result.verdict, result.draft
    if verdict is None:
        lines.append(f"no edit reached the gate: {result.reason}")
    else:
        compared = comparison_words(verdict, result.place)
        if draft is None or not draft.commit or result.version:
            lines.append(f"gate: {verdict.outcome.value}, {compared}: {verdict.reason}")
        elif verdict.accepted:
            lines.append(f"not a version yet: {result.reason}")
        lines += draft_lines(draft, f"{compared}; ") if draft else ()
        lines.append(f"proposal {result.looks} on this suite; each further one weakens what a verdict shows")
    if result.version:
        lines.append(f"committed {result.version[:10]} on branch {result.branch}")
    elif draft is None or not draft.commit:
        lines.append("nothing committed")
    elif draft.replaced:
        lines.append(
            f"the earlier draft has other edits and is kept as {draft.replaced[:10]}; to restore it: "
            f"git branch --force {draft.branch} {draft.replaced[:10]}"
        )
    return "\n".join([*lines, *used_lines(result.spent, (result.rollouts, result.paid_rollouts))])
