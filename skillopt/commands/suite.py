"""The commands about suites, `suite show` and `suite check`: their options, and their results as text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from skillopt.commands import output
from skillopt.commands.options import (
    JsonOption,
    QuietOption,
    RunOptions,
    SkillArgument,
    SuiteOption,
    YesOption,
    with_run_options,
)
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.safety.plurals import count_noun

if TYPE_CHECKING:
    from skillopt.actions.suite_check import CheckedSuite
    from skillopt.actions.suite_show import ShownSuite, SuiteTask

__all__ = ["suite"]

_MOST_TASKS: Final = 40
_MOST_NAMES: Final = 8
_MOST_CRITERIA: Final = 12
_MOST_LEAKS: Final = 12
_LONGEST: Final = 100

_STANDINGS: Final = {
    "never passes": "never passed under two texts or more: too hard, or the check is wrong",
    "fails so far": "failed each time under the one text that was run: what training works on",
    "always passes": "always passed, so there is nothing to learn from it",
    "flaky": "both passed and failed under one and the same text",
}

suite = typer.Typer(
    name="suite",
    add_completion=False,
    help="Look at the tasks of a skill.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


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

    from skillopt.actions.suite_show import show_suite

    most = None if everything else _MOST_TASKS
    output.show(show_suite(skill, suite=suite), partial(_text, most=most), as_json=as_json)


@suite.command()
@with_run_options
def check(
    skill: SkillArgument = None,
    *,
    options: RunOptions,
    run: Annotated[
        bool,
        typer.Option("--run", help="Run tasks of train and val three times, and judge results again."),
    ] = False,
    readings: Annotated[int, typer.Option("--readings", min=1, help="Further readings of a result, with --run.")] = 4,
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check what the tasks can tell: criteria, outcomes, leaks.

    Uses what is recorded, and spends nothing without --run: criteria that the judge cannot decide, tasks that always or
    never pass, flaky ones, what tasks of one split tell of another's, and the smallest gain that the suite can show.
    """
    from skillopt.actions.suite_check import check_suite
    from skillopt.commands.progress import ProgressObserver

    selection = options.select(skill)
    if run:
        from skillopt.commands.spending import ask_to_pay, foresee_payment

        what = f"each task of train and val three times, and up to {readings} readings of each result by the judge"
        ask_to_pay(foresee_payment(selection, drafts=False), what, yes=yes)
    with output.interruptible(), ProgressObserver(quiet=quiet or not run) as observer:
        found = check_suite(selection, run=run, readings=readings, observer=observer)
    output.show(found, _check_text, as_json=as_json)


def _check_text(found: "CheckedSuite") -> str:
    return "\n".join(_check_lines(found))


def _check_lines(found: "CheckedSuite") -> Iterator[str]:
    yield from _outcome_lines(found)
    yield from _judge_lines(found)
    yield from _leak_lines(found)
    yield f"what it can show: {found.prospect.words}"
    if found.paid.rollouts or found.paid.judge_calls:
        calls = count_noun(found.paid.judge_calls, "judge call")
        yield f"newly run: {count_noun(found.paid.rollouts, 'rollout')}, and {calls} to read results again"


def _outcome_lines(found: "CheckedSuite") -> Iterator[str]:
    runs = sum(task.runs for task in found.tasks)
    known = sum(task.standing != "too few runs" for task in found.tasks)
    tasks = count_noun(len(found.tasks), "task")
    yield f"{escape_terminal(found.skill)}: {tasks}, {count_noun(runs, 'recorded rollout')}"
    if found.problem:
        yield f"recorded rollouts could not be looked up: {escape_terminal(found.problem.splitlines()[0])}"
    elif not known:
        yield "no task has runs enough to say how it goes: `skillopt suite check --run` runs each"
    for standing, note in _STANDINGS.items():
        named = [escape_terminal(task.task) for task in found.tasks if task.standing == standing]
        if named:
            yield f"{len(named)} of {count_noun(known, 'task')} {note}: {_some(named)}"


def _leak_lines(found: "CheckedSuite") -> Iterator[str]:
    leaks = found.leaks
    yield f"{count_noun(len(leaks), 'leak')} between tasks:" if leaks else "no leak between tasks was found"
    for leak in leaks[:_MOST_LEAKS]:
        told = "" if leak.task == leak.other else f" and {escape_terminal(leak.other)} ({leak.parts[1]})"
        yield f"  {escape_terminal(leak.task)} ({leak.parts[0]}){told}: {leak.reason}"
    if len(leaks) > _MOST_LEAKS:
        yield f"  … {len(leaks) - _MOST_LEAKS} more (--json lists them)"


def _judge_lines(found: "CheckedSuite") -> Iterator[str]:
    if found.judge is not None:
        yield found.judge.words
    if found.undecided:
        of = count_noun(len(found.criteria), "criterion", "criteria")
        yield f"{len(found.undecided)} of {of} the judge cannot decide; word them more exactly:"
    for one in found.undecided[:_MOST_CRITERIA]:
        said = f"two readings differ {one.differs:.0%} of the time"
        cannot = f", {one.cannot_tell:.0%} cannot tell" if one.cannot_tell else ""
        yield f"  {escape_terminal(f'{one.task} {one.number}. {truncate(one.text, _LONGEST)}')}: {said}{cannot}"
    if len(found.undecided) > _MOST_CRITERIA:
        yield f"  … {len(found.undecided) - _MOST_CRITERIA} more (--json lists them)"


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _text(found: "ShownSuite", *, most: int | None) -> str:
    return "\n".join(_lines(found, most))


def _lines(found: "ShownSuite", most: int | None) -> Iterator[str]:
    skipped = f", {len(found.skipped)} cannot be run" if found.skipped else ""
    where = f" in {_short(found.path)} (format {found.format})" if found.tasks else ""
    yield f"{escape_terminal(found.name)}: {count_noun(len(found.tasks), 'task')}{where}{skipped}"
    width = max((len(task.id) for task in found.tasks[:most]), default=0)
    for task in found.tasks[:most]:
        yield f"  {task.part:<6}  {escape_terminal(task.id.ljust(width))}  {_scored(task)}"
    if most is not None and len(found.tasks) > most:
        yield f"  … {len(found.tasks) - most} more (--all lists them)"
    if found.judged:
        of = f"{found.judged} of {count_noun(len(found.tasks), 'task')}"
        yield f"{of} need a judge: a model, named by the setting `judge`"
    if found.skipped:
        yield "cannot be run:"
        for each in found.skipped:
            yield f"  {_short(str(each.path))}:{each.line}: {escape_terminal(f'{each.name}: {each.reason}')}"
    should, should_not = found.triggers
    if should or should_not:
        yield (
            f"{count_noun(should + should_not, 'trigger')} ({should} should load the skill, {should_not} should not); "
            "not tasks: they say when the skill should load"
        )
    yield from (f"note: {escape_terminal(note)}" for note in (found.code, found.training) if note)


def _scored(task: "SuiteTask") -> str:
    kinds = [kind if count == 1 else f"{count} {kind}" for kind, count in Counter(task.checks).items()]
    judged = [f"judge ({count_noun(task.criteria, 'criterion', 'criteria')})"] if task.criteria else []
    files = f"; {count_noun(task.files, 'file')}" if task.files else ""
    return f"{', '.join(kinds + judged)}{files}"


def _short(path: str) -> str:
    """Return a path as it is seen from here."""
    place, here = Path(path).absolute(), Path.cwd()
    return escape_terminal(str(place.relative_to(here) if place.is_relative_to(here) else path))
