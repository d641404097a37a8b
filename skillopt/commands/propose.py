"""The command `propose`: edits of your own tested, gated and committed."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import JsonOption, QuietOption, RunOptions, SkillArgument, StartOption, with_run_options
from skillopt.commands.output import as_json_text, interruptible, news_of_run, used_lines
from skillopt.commands.progress import ProgressObserver
from skillopt.gate.comparison import Outcome
from skillopt.gate.grades import grade_words
from skillopt.gate.headline import VAL, compared_words
from skillopt.runs.proposal import ProposalResult, parse_proposal
from skillopt.runs.proposal import propose as run


@with_run_options
def propose(
    edits: Annotated[
        Path,
        typer.Argument(help='JSON file: {"edits": [{"op", "anchor" or "section", "content", "rationale", "tasks"}]}.'),
    ],
    skill: SkillArgument = None,
    *,
    start: StartOption = "auto",
    options: RunOptions,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Test, gate and commit edits of your own.

    Ends with 1 if the gate does not accept them, and with 2 if one of them is invalid; then none is tried.
    """
    selection = options.select(skill)
    with interruptible(), ProgressObserver(quiet=quiet, proposal=True) as observer:
        found = run(selection, parse_proposal(edits), start=start, observer=observer)
    made = [found.version] if found.version else []
    news, shown = news_of_run(selection, made)
    typer.echo(as_json_text(asdict(found) | news) if as_json else "\n".join([*shown, _text(found)]))
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
        lines.append(
            f"gate: {verdict.outcome.value}, {compared_words(verdict, VAL)}, {verdict.wins} "
            f"better, {verdict.ties} equal, {verdict.losses} worse: {verdict.reason}"
        )
        if verdict.grading is not None and not result.version:
            lines.append(f"as a draft: {grade_words(verdict.grading)}")
        if verdict.outcome is Outcome.ACCEPT and not result.version:
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
