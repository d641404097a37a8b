"""The command `evidence`: what is recorded of a skill on train tasks, for whoever proposes edits."""

from collections.abc import Sequence
from typing import Annotated

import typer

from skillopt.commands.options import (
    HarnessOption,
    JsonOption,
    SetOption,
    SkillArgument,
    StartOption,
    SuiteOption,
    flags_of,
)
from skillopt.commands.output import show
from skillopt.project import Selection
from skillopt.runs.evidence import TaskEvidence
from skillopt.runs.evidence import evidence as collect
from skillopt.safety.escaping import escape_terminal_lines


def evidence(
    skill: SkillArgument = None,
    *,
    task: Annotated[
        list[str] | None, typer.Option(help="Show all runs of this train task, newest first; repeatable.")
    ] = None,
    fold: Annotated[int, typer.Option(min=1, max=2, help="Which fold, for a suite with 2-fold cross-validation.")] = 1,
    start: StartOption = "auto",
    suite: SuiteOption = None,
    settings: SetOption = None,
    harness: HarnessOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the results of the skill on train tasks.

    Everything that a proposer of edits needs: the text, tasks grouped by failure, runs that show the failures, and
    edits tried before; nothing of val or test. Spends nothing.
    """
    found = collect(
        Selection(skill, flags_of(settings, harness=harness), suite), start=start, tasks=task or (), fold=fold
    )
    text = _runs if task else _text
    show(found, lambda result: escape_terminal_lines(text(result)), as_json=as_json)


def _text(result: TaskEvidence) -> str:
    budget = f"at most {result.edit_budget} edits" + (
        f" and {result.token_budget} changed tokens" if result.token_budget else ""
    )
    fold = f" of fold {result.fold}" if result.fold else ""
    head = (
        f"{result.skill} {result.base}: {len(result.measured)} of {result.tasks} train tasks{fold} measured, "
        f"{result.failing} of them failed at least once; {budget}; {result.looks} proposals so far"
    )
    return "\n\n".join(
        [
            head,
            result.text.rstrip(),
            *([f"refused by people:\n{_listed(result.refused)}"] if result.refused else []),
            *([f"tried before:\n{_listed(result.rejected)}"] if result.rejected else []),
            *([result.table] if result.table else []),
            _runs(result),
        ]
    ).rstrip()


def _runs(result: TaskEvidence) -> str:
    return "\n\n".join(one.text for one in result.rollouts)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
