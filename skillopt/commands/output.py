"""Results on stdout, as text or JSON, reports in files, and the end of a command that was interrupted."""

import json
import os
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import typer

from skillopt.execution.interrupts import EXIT_INTERRUPTED
from skillopt.safety.escaping import count_noun, escape_json, escape_log_line, escape_terminal

if TYPE_CHECKING:
    from skillopt.project import Selection
    from skillopt.rollouts import Usage
    from skillopt.runs.run import DraftState
    from skillopt.storage.jobs import Job

SHORT: Final = 10
"""Characters of a commit that are shown."""

CACHED: Final = "the rest was cached"

_MOST_TASKS: Final = 6  # a line of a terminal holds so many ids
_LONGEST: Final = 160  # longer lines are broken by terminals in the middle of words

_Result = TypeVar("_Result")


@contextmanager
def interruptible() -> Iterator[None]:
    """End with 130 on Ctrl-C and say how to go on; Typer itself would end without a word."""
    try:
        yield
    except KeyboardInterrupt as error:
        typer.echo("interrupted; all results so far are kept; run the same command to continue", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from error


def fold_lines(text: str) -> str:
    """Break lines that no terminal shows at once at their blanks; what goes on is indented."""
    return "\n".join(map(_folded, text.split("\n")))


def _folded(line: str) -> str:
    if len(line) <= _LONGEST:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    # An address or a path stays one.
    first, *rest = textwrap.wrap(line, _LONGEST - len(indent), break_long_words=False, break_on_hyphens=False)
    return "\n".join([first, *(f"{indent}{escape_log_line(one)}" for one in rest)])


def show(result: _Result, text: Callable[[_Result], str], *, as_json: bool, folds: bool = True) -> None:
    """Print a command's result; a text that `folds` has no line that is too long for a terminal."""
    told = as_json_text(result) if as_json else text(result)
    typer.echo(fold_lines(told) if folds and not as_json else told)


def as_json_text(result: object) -> str:
    """Return a command's result, a dataclass or a mapping of such, as JSON that cannot steer a terminal."""
    return escape_json(json.dumps(result, ensure_ascii=False, indent=2, default=_plain))


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def news_of_run(selection: "Selection", made: Sequence[str]) -> tuple[dict[str, object], list[str]]:
    """Say what the last commit of a run lets or tells an agent do, and what agents did, that is new: for JSON, as text.

    It is compared with the text before the first commit that the run made; nothing is said where it made none.
    """
    if not made:
        return {"difference": None, "acts": ()}, []
    from skillopt.reports.markdown import paragraphs, tell_acts, tell_difference
    from skillopt.reports.terminal import print_terminal
    from skillopt.runs.history import acts_of, compare_versions, difference_of_files

    project = selection.project()
    repository = project.repository()
    sides = compare_versions(selection, repository.commit(made[0]).parent, made[-1])
    difference, acts = difference_of_files(sides.old, sides.new), acts_of(project, repository.commit(made[-1]))
    shown = paragraphs(tell_difference(difference), tell_acts(acts))
    return {"difference": difference, "acts": acts}, [print_terminal(shown)]


def format_usage(usage: "Usage", role: str) -> str:
    """Return the consumption of a role in words; a price that is not known is named so."""
    from skillopt.storage.ledger import noun_of

    calls = count_noun(usage.calls, noun_of(role))
    if usage.calls and usage.usd is None and not (usage.tokens or usage.at_least):
        return f"{calls}, tokens and price unknown"
    return f"{calls}, {usage.tokens:,} tokens, {usage.price}"


def used_lines(spent: "Mapping[str, Usage] | None", rollouts: tuple[int, int]) -> Iterator[str]:
    """Return the rollouts that a command used, all and newly run, and what each role spent."""
    asked, paid = rollouts
    yield f"used: {asked:,} rollouts ({paid:,} new, {asked - paid:,} cached)"
    yield from (f"spent by the {role}: {format_usage(usage, role)}" for role, usage in (spent or {}).items())


def draft_lines(draft: "DraftState", passed: str = "") -> Iterator[str]:
    """Return where the draft of a run is, what was shown of it, and what a person must look at."""
    from skillopt.figures import name_grade

    if not draft.commit:
        yield f"draft not published: {escape_terminal(draft.note)}"
        return
    yield f"draft on branch {draft.branch}: {passed}{name_grade(draft.grading)}"
    yield from (f"  a person must look at it first: {escape_terminal(mark)}" for mark in draft.marks)


def job_line(job: "Job") -> str:
    """Return a job as one line."""
    return f"{job.id}  {job.skill}: {job.command[0]}, {job.state.value}"


def list_tasks(tasks: Sequence[str]) -> str:
    """List the names of tasks; of many, the first ones."""
    more = f", … {len(tasks) - _MOST_TASKS} more" if len(tasks) > _MOST_TASKS else ""
    return f"{', '.join(escape_terminal(task) for task in tasks[:_MOST_TASKS])}{more}"


def write_report(path: Path, text: str, option: str = "--output", *, append: bool = False) -> None:
    """Write a report aside and put it in place, or append it; only its owner may read what quotes tasks and answers."""
    aside = path if append else path.with_name(f"{path.name}.new")
    try:
        with open(aside, "a" if append else "w", encoding="utf-8", opener=partial(os.open, mode=0o600)) as file:
            file.write(text.removesuffix("\n") + "\n")
        if not append:
            aside.replace(path)
    except OSError as error:
        from skillopt.errors import UsageError

        raise UsageError(f"cannot write {path}: {error.strerror}; choose another {option}") from error
