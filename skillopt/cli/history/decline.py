"""The commands by which a person says no, `decline`, `undecline` and `drop`: options, results as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import (
    HarnessOption,
    JsonOption,
    MinutesOption,
    QuietOption,
    RolloutsOption,
    SetOption,
    SuiteOption,
    TokensOption,
    UsdOption,
    WorkersOption,
    flags_of,
    select,
)
from skillopt.cli.output import SHORT, interruptible, show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.commands.history.decline import Declined, DeclinedDescriptions, Undeclined
    from skillopt.commands.history.drop import Dropped
    from skillopt.versions.decisions import PersonsWord

__all__ = ["decline", "drop", "undecline"]

_SkillName = Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")]
_Reason = Annotated[str, typer.Option("--reason", help="Why; the optimizer model is told, at most 300 characters.")]


def decline(
    skill: _SkillName,
    version: Annotated[
        str,
        typer.Argument(
            metavar="VERSION",
            help="A version, which is declined with all later ones, draft, or description. All that the default "
            "branch lacks, else the draft, when left out.",
        ),
    ] = "",
    *,
    reason: _Reason = "",
    as_json: JsonOption = False,
) -> None:
    """Refuse versions, the draft, or descriptions that `skillopt trigger --train` wrote.

    They stay in the history and are marked declined. Training starts from the text before them, and does not try
    their edits, or those descriptions, again.
    """
    from skillopt.commands.history.decline import decline as run
    from skillopt.commands.history.decline import decline_description
    from skillopt.versions.commit_kind import DESCRIPTION

    if version == DESCRIPTION:
        show(decline_description(select(skill), _word(skill, reason)), _description_text, as_json=as_json)
        return
    show(run(select(skill), version, _word(skill, reason)), _declined_text, as_json=as_json)


def undecline(
    skill: _SkillName,
    version: Annotated[
        str,
        typer.Argument(metavar="VERSION", help="What was declined, or description; the last version when left out."),
    ] = "",
    *,
    reason: _Reason = "",
    as_json: JsonOption = False,
) -> None:
    """Take back that a version, or the last description, was declined.

    Its text is the newest version again, and its edits may be tried again.
    """
    from skillopt.commands.history.decline import undecline as run
    from skillopt.commands.history.decline import undecline_description
    from skillopt.versions.commit_kind import DESCRIPTION

    if version == DESCRIPTION:
        show(undecline_description(select(skill), _word(skill, reason)), _undeclined_text, as_json=as_json)
        return
    show(run(select(skill), version, _word(skill, reason)), _undeclined_text, as_json=as_json)


def drop(
    skill: _SkillName,
    edits: Annotated[list[str], typer.Argument(metavar="EDIT…", help="Numbers of edits as `skillopt log` lists them.")],
    *,
    reason: _Reason = "",
    measure: Annotated[
        bool, typer.Option(help="Measure the text without them against the one with them, and against the base.")
    ] = True,
    suite: SuiteOption = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    harness: HarnessOption = None,
    max_rollouts: RolloutsOption = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Refuse single edits of what is offered.

    The text without them is committed, of a draft too, whatever the measurement says; training does not try them
    again.
    """
    from skillopt.cli.progress import ProgressObserver
    from skillopt.commands.history.drop import DropOptions
    from skillopt.commands.history.drop import drop as run

    caps = {"max_rollouts": max_rollouts, "max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = flags_of(settings, workers=workers, harness=harness, **caps)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        options = DropOptions(_word(skill, reason), measure)
        result = run(select(skill, suite, flags), edits, options, observer)
    show(result, _dropped_text, as_json=as_json)


def _word(skill: str, reason: str) -> "PersonsWord | None":
    """Make a person's word of a reason; None where they gave none."""
    if not reason:
        return None
    from skillopt.versions.decisions import PersonsWord

    return PersonsWord.said(select(skill).project().repository().user_name, reason)


def _declined_text(result: "Declined") -> str:
    names = ", ".join(sha[:SHORT] for sha in result.declined)
    edits = "1 edit" if result.edits == 1 else f"{result.edits} edits"
    lines = [f"declined {names} by {escape_terminal(result.by)}: {edits} that training will not try again"]
    lines.append(f"{result.branch} is now {result.commit[:SHORT]}, the text that training starts from")
    return "\n".join([*lines, f"to take it back: skillopt undecline {result.skill} {result.declined[-1][:SHORT]}"])


def _description_text(result: "DeclinedDescriptions") -> str:
    names = ", ".join(sha[:SHORT] for sha in result.declined)
    lines = [f"declined the description {names} by {escape_terminal(result.by)}: training will not try it again"]
    lines.append(f"{result.branch} is now {result.commit[:SHORT]}, with the description that training starts from")
    return "\n".join([*lines, f"to take it back: skillopt undecline {result.skill} description"])


def _undeclined_text(result: "Undeclined") -> str:
    return f"{result.branch} is now {result.commit[:SHORT]}, with the text of {result.version[:SHORT]}"


def _dropped_text(result: "Dropped") -> str:
    lines = [f"dropped edit {one.number}: {escape_terminal(one.edit.summary)}" for one in result.edits]
    lines.append(f"{result.branch} is now {result.commit[:SHORT]}, without it")
    lines += [f"against {one.against}: {one.answer}, {escape_terminal(one.reason)}" for one in result.compared]
    if result.unmeasured:
        lines.append(f"not measured: {escape_terminal(result.unmeasured)}")
    return "\n".join(lines)
