"""The command `harvest`: its options, and its results as text."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from skillopt.commands.options import JsonOption, QuietOption
from skillopt.commands.output import interruptible, show
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.plurals import count_noun

if TYPE_CHECKING:
    from skillopt.actions.harvest import Harvested, HarvestedSkill
    from skillopt.project import Selection

__all__ = ["harvest"]

_MOST_FAILURES: Final = 5


def harvest(
    skill: Annotated[
        str | None, typer.Argument(help="Name in skillopt.toml, or a skill folder; all skills when left out.")
    ] = None,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="IDS", help="With --accept or --drop: which candidates, or `all`.")
    ] = None,
    *,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=200, help="Most candidates of a skill.")] = 20,
    accept: Annotated[
        bool, typer.Option("--accept", help="Make candidates tasks: those that are ticked, or those named.")
    ] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Throw candidates away; they are not offered again.")] = False,
    places: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="PATH", help="A folder or file of sessions instead of the clients' own."),
    ] = None,
    headless: Annotated[bool, typer.Option("--headless", help="Take sessions without a person, too.")] = False,
    without_skill: Annotated[
        bool, typer.Option("--without-skill", help="Take requests for which no skill was in use, too.")
    ] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make candidates for tasks from your past sessions in this repository, for you to review.

    Reads what Claude Code and Codex keep on this machine, where skillopt.toml says `enabled = true` under [harvest].
    Nothing leaves the machine; secrets and personal data are taken out before anything is written. Nothing becomes a
    task before you say so with --accept. Ends with 1 when there is no candidate.
    """
    from skillopt.actions.harvest import HarvestOptions
    from skillopt.actions.harvest import harvest as run
    from skillopt.project import Selection

    _expect_fitting(skill, ids or (), decides=(accept, drop), without_skill=without_skill)
    selection = Selection(skill)
    if accept or drop:
        _decide(selection, ids or [], drop=drop, as_json=as_json)
        return

    def notice(text: str) -> None:
        if not quiet:
            typer.echo(text, err=True)

    options = HarvestOptions(count, tuple(places or ()), headless, without_skill)
    with interruptible():
        found = run(selection, options, notice)
    show(found, _text, as_json=as_json)
    if not any(one.candidates for one in found.skills):
        raise typer.Exit(1)


def _expect_fitting(skill: str | None, ids: Sequence[str], *, decides: tuple[bool, bool], without_skill: bool) -> None:
    """Refuse options that do not fit together."""
    from skillopt.errors import UsageError

    if all(decides):
        raise UsageError("expected --accept or --drop, found both; leave one out")
    if skill is None and (any(decides) or without_skill):
        raise UsageError("expected the name of a skill with --accept, --drop or --without-skill, found none; name one")
    if ids and not any(decides):
        raise UsageError(f"expected --accept or --drop with ids, found {', '.join(ids)} without; add one of them")


def _decide(selection: "Selection", ids: list[str], *, drop: bool, as_json: bool) -> None:
    from skillopt.actions.candidates import accept_candidates, drop_named
    from skillopt.commands.write_tasks import accepted_text

    if drop:
        show(
            drop_named(selection, ids),
            lambda left: f"{len(left.dropped)} dropped, {left.waiting} wait",
            as_json=as_json,
        )
    else:
        show(accept_candidates(selection, ids), accepted_text, as_json=as_json)


def _text(result: "Harvested") -> str:
    return "\n".join(_lines(result))


def _lines(result: "Harvested") -> Iterator[str]:
    total = sum(len(one.candidates) for one in result.skills)
    yield (
        f"{count_noun(total, 'candidate')} from {count_noun(result.requests, 'request')} in "
        f"{count_noun(result.sessions, 'session')} of this repository, {result.corrected} of them corrected"
    )
    if result.left_out:
        yield "left out: " + ", ".join(f"{number} {reason}" for reason, number in sorted(result.left_out.items()))
    if result.skipped_lines or result.links:
        yield f"not read: {count_noun(result.skipped_lines, 'line')}, {count_noun(result.links, 'link')}"
    for one in result.skills:
        yield from _skill_lines(one)
    if result.failures:
        yield "failures in three sessions or more:"
        for failure, times in result.failures[:_MOST_FAILURES]:
            yield f"  {times} sessions: {escape_terminal(failure)}"
    if result.unskilled:
        yield "asked again and again without a skill (take them with SKILL --without-skill):"
        yield from (f"  {one.times} times: {escape_terminal(one.text)}" for one in result.unskilled)
    named = next((one for one in result.skills if one.review), None)
    if named is not None:
        yield f"next: read {named.review}, tick what is right, then skillopt harvest {named.skill} --accept"


def _skill_lines(one: "HarvestedSkill") -> Iterator[str]:
    if one.candidates or one.left_out:
        yield f"{one.skill}: {count_noun(len(one.candidates), 'candidate')}, {len(one.left_out)} left out"
    for each in one.candidates:
        yield f"  {escape_terminal(each.id)}: {each.why}"
    for name, reason in one.left_out:
        yield f"  not {escape_terminal(name)}: {escape_terminal(reason)}"
    if one.more:
        yield f"  {count_noun(one.more, 'more request')} not looked at: these are enough; take more with -n"
