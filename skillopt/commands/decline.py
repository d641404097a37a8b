"""The command `decline`, by which a person says no: its options, and its results as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import (
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
from skillopt.commands.output import SHORT, interruptible, show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.actions.decline import Declined, DeclinedDescriptions, Undeclined
    from skillopt.actions.drop import Dropped
    from skillopt.project import Selection
    from skillopt.versions.decisions import PersonsWord

__all__ = ["decline"]

_LONGEST_NUMBER = 3


def decline(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT…]",
            help="A version, which is declined with all later ones; draft; description; or numbers of edits as "
            "`skillopt log` lists them. All that the default branch lacks, else the draft, when left out.",
        ),
    ] = None,
    *,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back that a version or the description was declined.")
    ] = False,
    reason: Annotated[
        str, typer.Option("--reason", help="Why; the optimizer model is told, at most 300 characters.")
    ] = "",
    measure: Annotated[
        bool, typer.Option(help="Measure the text without the edits against the one with them, and against the base.")
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
    """Refuse versions, the draft, single edits, or descriptions that `skillopt trigger --train` wrote.

    They stay in the history and are marked declined. Training starts from the text before them, or from the text
    without the edits, and does not try them again. Only edits are measured, and go whatever the measurement says.
    """
    from skillopt.actions import decline as actions
    from skillopt.errors import UsageError
    from skillopt.versions.commit_message import DESCRIPTION

    words = what or []
    if words and all(word.isdecimal() and len(word) <= _LONGEST_NUMBER for word in words) and not undo:
        caps = {"max_rollouts": max_rollouts, "max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
        flags = flags_of(settings, workers=workers, harness=harness, **caps)
        _drop(select(skill, suite, flags), words, (_word(skill, reason), measure), quiet=quiet, as_json=as_json)
        return
    if len(words) > 1:
        raise UsageError(f"expected one version, or numbers of edits, found {' '.join(words)!r}")
    selection, said, version = select(skill), _word(skill, reason), "".join(words)
    if version == DESCRIPTION and undo:
        show(actions.undecline_description(selection, said), _undeclined_text, as_json=as_json)
    elif version == DESCRIPTION:
        show(actions.decline_description(selection, said), _description_text, as_json=as_json)
    elif undo:
        show(actions.undecline(selection, version, said), _undeclined_text, as_json=as_json)
    else:
        show(actions.decline(selection, version, said), _declined_text, as_json=as_json)


def _drop(
    selection: "Selection", edits: list[str], options: "tuple[PersonsWord | None, bool]", *, quiet: bool, as_json: bool
) -> None:
    """Refuse single edits of what is offered."""
    from skillopt.actions.drop import DropOptions, drop
    from skillopt.commands.progress import ProgressObserver

    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        result = drop(selection, edits, DropOptions(*options), observer)
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
    return "\n".join([*lines, f"to take it back: skillopt decline --undo {result.skill} {result.declined[-1][:SHORT]}"])


def _description_text(result: "DeclinedDescriptions") -> str:
    names = ", ".join(sha[:SHORT] for sha in result.declined)
    lines = [f"declined the description {names} by {escape_terminal(result.by)}: training will not try it again"]
    lines.append(f"{result.branch} is now {result.commit[:SHORT]}, with the description that training starts from")
    return "\n".join([*lines, f"to take it back: skillopt decline --undo {result.skill} description"])


def _undeclined_text(result: "Undeclined") -> str:
    return f"{result.branch} is now {result.commit[:SHORT]}, with the text of {result.version[:SHORT]}"


def _dropped_text(result: "Dropped") -> str:
    lines = [f"dropped edit {one.number}: {escape_terminal(one.edit.summary)}" for one in result.edits]
    lines.append(f"{result.branch} is now {result.commit[:SHORT]}, without it")
    lines += [f"against {one.against}: {one.answer}, {escape_terminal(one.reason)}" for one in result.compared]
    if result.unmeasured:
        lines.append(f"not measured: {escape_terminal(result.unmeasured)}")
    return "\n".join(lines)
