"""The command `transfer`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import (
    JsonOption,
    MinutesOption,
    QuietOption,
    RepeatsOption,
    SetOption,
    SkillArgument,
    SplitOption,
    SuiteOption,
    TokensOption,
    UsdOption,
    WorkersOption,
    flags_of,
    select,
)
from skillopt.commands.output import interruptible, show

if TYPE_CHECKING:
    from skillopt.actions.transfer import TargetRow, Transferred
    from skillopt.gate.comparison import Verdict

__all__ = ["transfer"]


def transfer(
    skill: SkillArgument = None,
    *,
    to: Annotated[
        list[str],
        typer.Option("--to", metavar="HARNESS", help="A target, such as codex or claude-code/MODEL; repeat for more."),
    ],
    version: Annotated[str | None, typer.Option("--version", help="A version, instead of the newest.")] = None,
    split: SplitOption = "val",
    repeats: RepeatsOption = 1,
    suite: SuiteOption = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score a version on other targets.

    On each, it is compared task by task with no skill and with the text that training started from. Ends
    with 3 when a target could not be measured; the others are shown all the same.
    """
    from skillopt.actions.transfer import transfer as run
    from skillopt.commands.progress import ProgressObserver
    from skillopt.tasks import Split

    flags = flags_of(settings, workers=workers, max_usd=max_usd, max_tokens=max_tokens, max_minutes=max_minutes)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        selection = select(skill, suite, flags)
        found = run(selection, targets=to, version=version, split=Split(split), repeats=repeats, observer=observer)
    show(found, _text, as_json=as_json)
    if not found.complete:
        raise typer.Exit(3)


def _text(result: "Transferred") -> str:
    from skillopt.safety.plurals import count_noun
    from skillopt.versions.staleness import TargetName

    repeats = count_noun(result.repeats, "repeat")
    head = f"{result.skill} {result.version[:10]} on {result.split}, {repeats} a task"
    trained = f"; trained on {TargetName.parse(result.trained_on)}" if result.trained_on else ""
    paid = sum(row.paid_rollouts for row in result.targets)
    titles = ("target", "no skill", "first", "version", "against no skill", "against the first")
    rows = [titles, *(_cells(row) for row in result.targets)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(titles))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(
        [
            f"{head}, {paid} newly run{trained}",
            *lines,
            *(f"{row.target}: {row.reason}" for row in result.targets if row.reason),
            "verdicts: wins/ties/losses of the version, task by task",
        ]
    )


def _cells(row: "TargetRow") -> tuple[str, ...]:
    found = row.found
    if found is None:
        return (row.target, row.status, "", "", "", "")
    from skillopt.gate.headline import passed_words

    scores = (
        f"{passed_words(tally.passed * tally.measured, tally.measured)}, score {tally.score:.2f}"
        for tally in (found.no_skill, found.first, found.version)
    )
    return (row.target, *scores, _outcome(found.against_no_skill), _outcome(found.against_first))


def _outcome(verdict: "Verdict") -> str:
    return f"{verdict.outcome.value} {verdict.wins}/{verdict.ties}/{verdict.losses}"
