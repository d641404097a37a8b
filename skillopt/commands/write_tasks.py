"""The command `write-tasks`: its options, and its results as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import JsonOption, QuietOption, RepeatsOption, RunOptions, YesOption, with_run_options
from skillopt.commands.output import format_usage, interruptible, show
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.plurals import count_noun

if TYPE_CHECKING:
    from skillopt.actions.accept_tasks import AcceptedTasks
    from skillopt.actions.write_tasks import DraftedTask, WrittenTasks

__all__ = ["accepted_text", "write_tasks"]


@with_run_options
def write_tasks(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="IDS", help="With --accept: which drafts, or `all`.")
    ] = None,
    *,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=60, help="Tasks to draft.")] = 12,
    accept: Annotated[
        bool, typer.Option("--accept", help="Make drafts tasks: those that are ticked, or those named.")
    ] = False,
    repeats: RepeatsOption = 1,
    options: RunOptions,
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Draft tasks from a skill's text, for you to review.

    Each draft is tried: an empty answer must fail, the model's own answer must pass, and the agent is run with the
    skill and without. What is left waits in a review file; nothing becomes a task before you say so with --accept.
    Before money is spent for the first time, a terminal is asked; without a terminal a paid model needs a cap, or
    --yes. Ends with 1 when no draft is left.
    """
    selection = options.select(skill)
    if accept:
        from skillopt.actions.accept_tasks import accept_tasks

        show(accept_tasks(selection, ids or ()), accepted_text, as_json=as_json)
        return
    if ids:
        from skillopt.errors import UsageError

        raise UsageError(f"expected --accept with ids of drafts, found {', '.join(ids)} without it; add --accept")
    from skillopt.actions.write_tasks import write_tasks as run
    from skillopt.commands.progress import ProgressObserver
    from skillopt.commands.spending import ask_to_pay, foresee_payment

    trials = f"{count} drafts, each run {count_noun(repeats, 'time')} with the skill and as often without"
    ask_to_pay(foresee_payment(selection, drafts=True), trials, yes=yes)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        found = run(selection, count=count, repeats=repeats, observer=observer)
    show(found, _written, as_json=as_json)
    if not found.review:
        raise typer.Exit(1)


def _written(result: "WrittenTasks") -> str:
    kept = [draft for draft in result.drafts if draft.kept]
    lines = [f"{len(kept)} of {len(result.drafts)} drafts for {result.skill} are left to choose from"]
    lines += [_draft(draft) for draft in sorted(result.drafts, key=lambda draft: not draft.kept)]
    lines += [f"not read {escape_terminal(name)}: {escape_terminal(reason)}" for name, reason in result.unread]
    lines.append(f"newly run: {result.paid_rollouts} runs, {result.paid_calls} calls for drafts; the rest was recorded")
    lines += [f"spent by the {role}: {format_usage(usage)}" for role, usage in result.spent.items()]
    if result.review:
        lines.append(
            f"next: read {result.review}, tick what is right, then skillopt write-tasks {result.skill} --accept"
        )
    else:
        lines.append(
            "next: another --model, or more drafts with -n; or write tasks yourself (skillopt docs suite-format)"
        )
    return "\n".join(lines)


def _draft(draft: "DraftedTask") -> str:
    near = ", near miss" if draft.near_miss else ""
    measured = f" ({draft.passed_with} of {draft.runs} with, {draft.passed_without} without)" if draft.runs else ""
    detail = f": {escape_terminal(draft.detail)}" if draft.detail and not draft.kept else ""
    return f"{'keep' if draft.kept else 'drop'} {draft.id}{near}: {draft.result}{measured}{detail}"


def accepted_text(result: "AcceptedTasks") -> str:
    """Return what became of drafts that were accepted."""
    lines = [f"{len(result.accepted)} drafts are tasks now: {', '.join(map(escape_terminal, result.accepted))}"]
    lines.append(f"{result.suite} has {result.tasks} tasks; {result.waiting} drafts wait")
    lines += [f"skillopt.toml + {line}" for line in result.config]
    return "\n".join([*lines, result.prospect, f"next: skillopt estimate {result.skill}"])
