"""The job `propose`: edits that an agent proposed through the MCP server are tested, gated and committed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import SetOption, SkillArgument, StartOption, SuiteOption, flags_of
from skillopt.commands.output import SHORT, draft_lines, interruptible, news_of_run, used_lines
from skillopt.commands.progress import ProgressObserver
from skillopt.figures import comparison_words
from skillopt.project import Selection
from skillopt.runs.proposal import EditsProposal, ProposalResult
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
        found = run(selection, EditsProposal.model_validate_json(edits.read_bytes()), start=start, observer=observer)
    _, shown = news_of_run(selection, [found.version] if found.version else [])
    typer.echo("\n".join([*shown, *_text(found)]))
    if not found.version and not (found.draft and found.draft.offered):
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
    draft = result.draft
    if verdict := result.verdict:
        compared = comparison_words(verdict, result.place)
        if draft is None or not draft.commit or result.version:
            yield f"gate: {verdict.outcome.value}, {compared}: {verdict.reason}"
        elif verdict.accepted:
            yield f"not a version yet: {result.reason}"
        yield from draft_lines(draft, f"{compared}; ") if draft else ()
        yield f"proposal {result.looks} on this suite; each further one weakens what a verdict shows"
    else:
        yield f"no edit reached the gate: {result.reason}"
    if result.version:
        yield f"committed {result.version[:SHORT]} on branch {result.branch}"
    elif draft is None or not draft.commit:
        yield "nothing committed"
    elif was := draft.replaced[:SHORT]:
        back = f"git branch --force {draft.branch} {was}"
        yield f"the earlier draft has other edits and is kept as {was}; to restore it: {back}"
    yield from used_lines(result.spent, (result.rollouts, result.paid_rollouts))
