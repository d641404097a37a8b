"""The command `inspect`: its options, and its result as text."""

from typing import TYPE_CHECKING

import typer

from skillopt.commands.options import AllSplitsOption, JsonOption, RunArgument, SuiteOption
from skillopt.commands.output import show
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.plurals import count_noun

if TYPE_CHECKING:
    from skillopt.actions.inspect import Inspection
    from skillopt.review.signs import Suspicion

__all__ = ["inspect"]


def inspect(
    name: RunArgument = None,
    *,
    all_splits: AllSplitsOption = False,
    suite: SuiteOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for rollouts of a run that scored without the work; exit 1 where there are any.

    Rollouts under texts that training wrote are contrasted with ordinary ones of the same tasks. Spends nothing.
    """
    from skillopt.actions.inspect import inspect as run

    result = run(name, all_splits=all_splits, suite=suite)
    show(result, _text, as_json=as_json)
    if result.findings:
        raise typer.Exit(1)


def _text(result: "Inspection") -> str:
    looked = (
        f"{escape_terminal(result.skill)} {result.run}: {count_noun(result.rollouts, 'rollout')} under trained text "
        f"contrasted with {count_noun(result.ordinary, 'rollout')} before training"
    )
    count = count_noun(len(result.findings), "finding")
    head = f"{count}, for a person to look at" if result.findings else "nothing suspicious found"
    return "\n\n".join([f"{head}\n{looked}", *map(_finding, result.findings)])


def _finding(one: "Suspicion") -> str:
    several = f", {one.rollouts} rollouts" if one.rollouts > 1 else ""
    rows = [
        f"{one.sign}: task {escape_terminal(one.task)}, skill {one.skill[:10]}, repeat {one.repeat}{several}",
        f"  what      {escape_terminal(one.what)}",
        f"  quote     {escape_terminal(one.quote) or 'of a held-out task: --all-splits shows it'}",
        f"  ordinary  {escape_terminal(one.ordinary)}",
        f"  sure      {escape_terminal(one.sure)}",
    ]
    return "\n".join(rows)
