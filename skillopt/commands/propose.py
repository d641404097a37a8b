"""The job `propose`: edits that an agent proposed through the MCP server are tested, gated and committed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import SetOption, SkillArgument, StartOption, SuiteOption, flags_of
from skillopt.commands.output import SHORT, interruptible, news_of_run, used_lines
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
    typer.echo("\n".join([*shown, *_text(found)]))
    if not found.accepted:
        raise typer.Exit(2 if found.refused else 1)


def _text(result: ProposalResult) -> Iterator[str]:
    if result.refused:
        yield from (f"edit {one.number} refused: {one.edit}: {one.reason}" for one in result.refused)
        yield result.reason
        return
    yield f"Run {result.run} tested the edits on {result.skill}."
    tried = [(one.edit, one.reason, "dropped") for one in result.dropped]
    tried += [(one.edit, one.reason, "kept" if one.kept else "dropped") for one in result.ablations]
    yield from (f"edit {edit.id[1:]} {fate}: {reason}: {edit.summary}" for edit, reason, fate in tried)
    if verdict := result.verdict:
        yield f"gate: {verdict.outcome.value}, {comparison_words(verdict, VAL)}: {verdict.reason}"
        if not result.version:
            yield f"as a draft: {name_grade(verdict.grading)}"
        if verdict.accepted and not result.version:
            yield f"not a version yet: {result.reason}"
        yield f"proposal {result.looks} on this suite; each further one weakens what a verdict shows"
    else:
        yield f"no edit reached the gate: {result.reason}"
    yield f"committed {result.version[:SHORT]} on branch {result.branch}" if result.version else "nothing committed"
    if was := result.replaced[:SHORT]:
        back = f"git branch --force skillopt-draft/{result.skill} {was}"
        yield f"the earlier draft has other edits and is kept as {was}; to restore it: {back}"
    yield from used_lines(result.spent, (result.rollouts, result.paid_rollouts))
