"""The job `propose`: edits that an agent proposed through the MCP server are tested, gated and committed."""

from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import SetOption, SkillArgument, StartOption, SuiteOption, flags_of
from skillopt.commands.output import interruptible, news_of_run, used_lines
from skillopt.commands.progress import ProgressObserver
from skillopt.figures import VAL, comparison_words, name_grade
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
    """Test, gate and commit the edits of a file; ends with 1 if none is accepted, with 2 if one cannot be tried."""
    selection = Selection(skill, flags_of(settings), suite)
    with interruptible(), ProgressObserver(proposal=True) as observer:
        found = run(selection, parse_proposal(edits), start=start, observer=observer)
    _, shown = news_of_run(selection, [found.version] if found.version else [])
    typer.echo("\n".join([*shown, _text(found)]))
    if not found.accepted:
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
    if verdict := result.verdict:
        lines.append(f"gate: {verdict.outcome.value}, {comparison_words(verdict, VAL)}: {verdict.reason}")
        if not result.version:
            lines.append(f"as a draft: {name_grade(verdict.grading)}")
        if verdict.accepted and not result.version:
            lines.append(f"not a version yet: {result.reason}")
        lines.append(f"proposal {result.looks} on this suite; each further one weakens what a verdict shows")
    else:
        lines.append(f"no edit reached the gate: {result.reason}")
    lines.append(
        f"committed {result.version[:10]} on branch {result.branch}" if result.version else "nothing committed"
    )
    if result.replaced:
        lines.append(
            f"the earlier draft has other edits and is kept as {result.replaced[:10]}; to restore it: "
            f"git branch --force skillopt-draft/{result.skill} {result.replaced[:10]}"
        )
    return "\n".join([*lines, *used_lines(result.spent, (result.rollouts, result.paid_rollouts))])
