"""The command `decline`, by which a person says no: to versions, the draft or single edits."""

from typing import Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import SHORT, as_json_text, show
from skillopt.errors import UsageError
from skillopt.project import Selection
from skillopt.runs.decline import Declined, drop_offered, undecline
from skillopt.runs.decline import decline as decline_versions
from skillopt.runs.history import Restored
from skillopt.safety.escaping import escape_terminal
from skillopt.versions.decisions import PersonsWord

_LONGEST_NUMBER = 3


def decline(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT…]",
            help="A version, which is declined with all later ones; draft; or numbers of edits as "
            "`skillopt log` lists them. All that the default branch lacks, else the draft, when left out.",
        ),
    ] = None,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Undo declining a version.")] = False,
    reason: Annotated[
        str, typer.Option("--reason", help="Why; shown to the optimizer model, at most 300 characters.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Refuse versions, the draft, or single edits.

    They stay in the history, marked as declined. Training starts from the text before them, or without the edits,
    and does not propose them again. Nothing is measured.
    """
    words = what or []
    if words and all(word.isdecimal() and len(word) <= _LONGEST_NUMBER for word in words) and not undo:
        _drop(Selection(skill), words, _word(skill, reason), as_json=as_json)
        return
    if len(words) > 1:
        raise UsageError(f"expected one version, or numbers of edits, found {' '.join(words)!r}")
    selection, said, version = Selection(skill), _word(skill, reason), "".join(words)
    if undo:
        show(undecline(selection, version, said), restored_text, as_json=as_json)
    else:
        show(decline_versions(selection, version, said), _declined_text, as_json=as_json)


def _drop(selection: Selection, edits: list[str], word: PersonsWord | None, *, as_json: bool) -> None:
    """Refuse single edits of what is offered."""
    done = drop_offered(selection, edits, word)
    if as_json:
        found = {"skill": done.skill, "branch": done.branch, "commit": done.commit, "edits": done.edits}
        typer.echo(as_json_text(found))
        return
    lines = [f"dropped edit {one.number}: {escape_terminal(one.edit.summary)}" for one in done.edits]
    lines.append(f"{done.branch} is now {done.commit[:SHORT]}, without it")
    gate = f"skillopt gate {done.before[:SHORT]} {done.commit[:SHORT]} --direct"
    typer.echo("\n".join([*lines, f"to measure it against the text with it: {gate}"]))


def _word(skill: str, reason: str) -> PersonsWord | None:
    """Make a person's word of a reason; None where they gave none."""
    if not reason:
        return None
    return PersonsWord.said(Selection(skill).project().repository().user_name, reason)


def _declined_text(result: Declined) -> str:
    names = ", ".join(sha[:SHORT] for sha in result.declined)
    edits = "1 edit" if result.edits == 1 else f"{result.edits} edits"
    lines = [f"declined {names} by {escape_terminal(result.by)}: {edits} that training will not try again"]
    lines.append(f"{result.branch} is now {result.commit[:SHORT]}, the text that training starts from")
    return "\n".join([*lines, f"to take it back: skillopt decline --undo {result.skill} {result.declined[-1][:SHORT]}"])


def restored_text(result: Restored) -> str:
    """Return which text a branch has again."""
    return f"{result.branch} is now {result.commit[:SHORT]}, with the text of {result.version[:SHORT]}"
