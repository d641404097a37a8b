"""The commands about suites, `suite show`: their options, and their results as text."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from skillopt.cli import output
from skillopt.cli.options import JsonOption, SuiteOption
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.commands.suite_show import ShownSuite, SuiteTask

__all__ = ["suite"]

_MOST_TASKS: Final = 40

suite = typer.Typer(help="Look at the tasks of a skill.", no_args_is_help=True, rich_markup_mode=None)


@suite.command()
def show(
    skill: Annotated[
        str | None,
        typer.Argument(
            metavar="[SKILL|PATH]", help="A skill, or a file or folder of tasks. May be left out with only one skill."
        ),
    ] = None,
    *,
    suite: SuiteOption = None,
    everything: Annotated[bool, typer.Option("--all", help=f"List more than {_MOST_TASKS} tasks.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the tasks of a skill, how each is scored, and what cannot be run.

    Reads any of the formats in `skillopt docs suite-format`; runs nothing and spends nothing.
    """
    from functools import partial

    from skillopt.commands.suite_show import show_suite

    most = None if everything else _MOST_TASKS
    output.show(show_suite(skill, suite=suite), partial(_text, most=most), as_json=as_json)


def _text(found: "ShownSuite", *, most: int | None) -> str:
    return "\n".join(_lines(found, most))


def _lines(found: "ShownSuite", most: int | None) -> Iterator[str]:
    skipped = f", {len(found.skipped)} cannot be run" if found.skipped else ""
    where = f" in {_short(found.path)} (format {found.format})" if found.tasks else ""
    yield f"{escape_terminal(found.name)}: {_count(len(found.tasks), 'task')}{where}{skipped}"
    width = max((len(task.id) for task in found.tasks[:most]), default=0)
    for task in found.tasks[:most]:
        yield f"  {task.part:<6}  {escape_terminal(task.id.ljust(width))}  {_scored(task)}"
    if most is not None and len(found.tasks) > most:
        yield f"  … {len(found.tasks) - most} more (--all lists them)"
    if found.judged:
        of = f"{found.judged} of {_count(len(found.tasks), 'task')}"
        yield f"{of} need a judge: a model, named by the setting `judge`"
    if found.skipped:
        yield "cannot be run:"
        for each in found.skipped:
            yield f"  {_short(str(each.path))}:{each.line}: {escape_terminal(f'{each.name}: {each.reason}')}"
    should, should_not = found.triggers
    if should or should_not:
        yield (
            f"{_count(should + should_not, 'trigger')} ({should} should load the skill, {should_not} should not); not "
            "tasks: they say when the skill should load"
        )
    if found.training:
        yield f"note: {found.training}"


def _scored(task: "SuiteTask") -> str:
    kinds = [kind if count == 1 else f"{count} {kind}" for kind, count in Counter(task.checks).items()]
    judged = [f"judge ({_count(task.criteria, 'criterion', 'criteria')})"] if task.criteria else []
    files = f"; {_count(task.files, 'file')}" if task.files else ""
    return f"{', '.join(kinds + judged)}{files}"


def _count(number: int, noun: str, several: str = "") -> str:
    return f"{number} {noun if number == 1 else several or noun + 's'}"


def _short(path: str) -> str:
    """Give a path as it is seen from here."""
    place, here = Path(path).absolute(), Path.cwd()
    return escape_terminal(str(place.relative_to(here) if place.is_relative_to(here) else path))
