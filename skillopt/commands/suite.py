"""The commands `suite show` and `suite check`: what the tasks of a skill are, and what they can tell."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

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
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import ask_to_pay, foresee_payment
from skillopt.errors import ReplyError, SkilloptError, SuiteError, UsageError
from skillopt.execution.drivers import Drivers, load_drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.scoring import Scoring
from skillopt.execution.suite_checks import collected_code_note
from skillopt.execution.threads import ThreadExecutor
from skillopt.gate.judge_noise import JudgeAgreement, judge_agreement
from skillopt.project import Selection
from skillopt.prompts.judging import JUDGE_SCHEMA, JudgedResult, ask_judge, read_judge
from skillopt.rollouts import Rollout
from skillopt.runs.prospect import Prospect, what_it_can_show
from skillopt.runs.recorded_outcomes import (
    CriterionMarks,
    TaskOutcomes,
    count_outcomes,
    marks_of_criteria,
    recorded_rollouts,
)
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.safety.plurals import count_noun
from skillopt.skills.folder import SKILL_FILE
from skillopt.storage.ledger import Ledger
from skillopt.suites import plan_suite, read_tasks
from skillopt.suites.formats import find_triggers
from skillopt.suites.reading import Reading, Skipped, Trigger
from skillopt.suites.split_leaks import SplitLeak, find_split_leaks
from skillopt.tasks import JUDGED_KINDS, Split, Suite, Task
from skillopt.verifiers import read_options
from skillopt.verifiers.rubric import RubricOptions, judged_by

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

_REPEATS: Final = 3
_RESULTS: Final = 2
"""Recorded results of a task that a judge reads again."""

_FIRST_AGAIN: Final = 101
"""Number of the first of these readings: none that scored a rollout has it."""


@dataclass(frozen=True, slots=True)
class _Paid:
    """What a check ran itself; the rest was recorded."""

    rollouts: int = 0
    judge_calls: int = 0


@dataclass(frozen=True, slots=True)
class _CheckedSuite:
    """What a suite's tasks can tell."""

    skill: str
    tasks: tuple[TaskOutcomes, ...]
    criteria: tuple[CriterionMarks, ...]
    undecided: tuple[CriterionMarks, ...]
    judge: JudgeAgreement | None
    leaks: tuple[SplitLeak, ...]
    prospect: Prospect
    paid: _Paid
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _SuiteTask:
    """One task."""

    id: str
    part: str
    checks: tuple[str, ...]
    criteria: int
    files: int


@dataclass(frozen=True, slots=True)
class _ShownSuite:
    """What a suite holds."""

    name: str
    format: str
    path: str
    tasks: tuple[_SuiteTask, ...]
    skipped: tuple[Skipped, ...]
    triggers: tuple[int, int]
    code: str
    training: str


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
    as_json: JsonOption = False,
) -> None:
    """Show the tasks of a skill, how each is scored, and what cannot be run.

    Reads any of the formats in `skillopt docs suite-format`; runs nothing and spends nothing.
    """
    output.show(_shown(skill, suite), lambda one: "\n".join(_lines(one)), as_json=as_json)


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
    readings: Annotated[int, typer.Option("--repeats", min=1, help="Further readings of a result, with --run.")] = 4,
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check what the tasks can tell: criteria, outcomes, leaks.

    Uses what is recorded, and spends nothing without --run: criteria that the judge cannot decide, tasks that always or
    never pass, flaky ones, what tasks of one split tell of another's, and the smallest gain that the suite can show.
    """
    selection = options.select(skill)
    if run:
        what = f"each task of train and val three times, and up to {readings} readings of each result by the judge"
        ask_to_pay(foresee_payment(selection, drafts=False), what, yes=yes)
    with output.interruptible(), ProgressObserver(quiet=quiet or not run) as observer:
        found = _checked(selection, run=run, readings=readings, observer=observer)
    output.show(found, lambda one: "\n".join(_check_lines(one)), as_json=as_json)


def _check_lines(found: _CheckedSuite) -> Iterator[str]:
    yield from _outcome_lines(found)
    yield from _judge_lines(found)
    yield from _leak_lines(found)
    yield f"what it can show: {found.prospect.words}"
    if found.paid.rollouts or found.paid.judge_calls:
        calls = count_noun(found.paid.judge_calls, "judge call")
        yield f"newly run: {count_noun(found.paid.rollouts, 'rollout')}, and {calls} to read results again"


def _outcome_lines(found: _CheckedSuite) -> Iterator[str]:
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


def _leak_lines(found: _CheckedSuite) -> Iterator[str]:
    leaks = found.leaks
    yield f"{count_noun(len(leaks), 'leak')} between tasks:" if leaks else "no leak between tasks was found"
    for leak in leaks[:_MOST_LEAKS]:
        told = "" if leak.task == leak.other else f" and {escape_terminal(leak.other)} ({leak.parts[1]})"
        yield f"  {escape_terminal(leak.task)} ({leak.parts[0]}){told}: {leak.reason}"
    if len(leaks) > _MOST_LEAKS:
        yield f"  … {len(leaks) - _MOST_LEAKS} more (--json lists them)"


def _judge_lines(found: _CheckedSuite) -> Iterator[str]:
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


def _lines(found: _ShownSuite) -> Iterator[str]:
    skipped = f", {len(found.skipped)} cannot be run" if found.skipped else ""
    where = f" in {_short(found.path)} (format {found.format})" if found.tasks else ""
    yield f"{escape_terminal(found.name)}: {count_noun(len(found.tasks), 'task')}{where}{skipped}"
    width = max((len(task.id) for task in found.tasks[:_MOST_TASKS]), default=0)
    for task in found.tasks[:_MOST_TASKS]:
        yield f"  {task.part:<6}  {escape_terminal(task.id.ljust(width))}  {_scored(task)}"
    if len(found.tasks) > _MOST_TASKS:
        yield f"  … {len(found.tasks) - _MOST_TASKS} more (--json lists them)"
    if judged := sum(task.criteria > 0 for task in found.tasks):
        of = f"{judged} of {count_noun(len(found.tasks), 'task')}"
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


def _scored(task: _SuiteTask) -> str:
    kinds = [kind if count == 1 else f"{count} {kind}" for kind, count in Counter(task.checks).items()]
    judged = [f"judge ({count_noun(task.criteria, 'criterion', 'criteria')})"] if task.criteria else []
    files = f"; {count_noun(task.files, 'file')}" if task.files else ""
    return f"{', '.join(kinds + judged)}{files}"


def _short(path: str) -> str:
    """Return a path as it is seen from here."""
    place, here = Path(path).absolute(), Path.cwd()
    return escape_terminal(str(place.relative_to(here) if place.is_relative_to(here) else path))


def _checked(selection: Selection, *, run: bool, readings: int, observer: RunObserver) -> _CheckedSuite:
    """Check a suite by what is recorded, and on demand by new rollouts and readings."""
    project = selection.project()
    target = project.target(selection)
    suite = target.suite()
    leaks, prospect = find_split_leaks(suite), what_it_can_show(suite, target.settings)
    try:
        drivers = load_drivers(target.settings, suite, project.root, optimizer=False)
        ledger = Ledger.open(project.root, read_only=not run)
    except SkilloptError as error:
        if run:
            raise
        problem = str(error) if (project.root / ".skillopt" / "ledger.db").exists() else ""
        nothing = count_outcomes(suite, {})
        return _CheckedSuite(target.name, nothing, (), (), None, leaks, prospect, _Paid(), problem)
    with closing(ledger):
        scoring = Scoring(ledger, drivers, target.settings, observer)
        if run:  # held-out tasks are not run, for every look makes them worth less
            tasks = [task for split, task in suite.splits if split is not Split.TEST]
            scoring.measure([(target.name, target.skill())], tasks, _REPEATS)
        rollouts = recorded_rollouts(ledger, drivers, suite)
        executor = ThreadExecutor(target.settings.workers, observer.notice)
        judging = Drivers(drivers.harness, drivers.judge, None, drivers.meter)
        judge = RecordedRunner(ledger, "", judging, executor, observer)
        more = _read_again(judge, suite, rollouts, readings) if run and drivers.judge is not None else {}
    criteria = marks_of_criteria(rollouts, more)
    undecided = sorted((one for one in criteria if one.undecided), key=lambda one: -max(one.differs, one.cannot_tell))
    return _CheckedSuite(
        target.name,
        count_outcomes(suite, rollouts),
        criteria,
        tuple(undecided),
        judge_agreement(rollout for own in rollouts.values() for rollout in own),
        leaks,
        prospect,
        _Paid(scoring.paid_rollouts, judge.paid_calls),
    )


def _read_again(
    judge: RecordedRunner, suite: Suite, rollouts: Mapping[str, Sequence[Rollout]], readings: int
) -> dict[tuple[str, str], list[str]]:
    """Have the judge read up to two results of each task again; return the marks by task and result."""
    tasks = {task.id: task for _, task in suite.splits}
    asked: list[tuple[tuple[str, str], list[tuple[JudgedResult, int]]]] = []
    for name, own in rollouts.items():
        shown = [one.score.judgement for one in own if one.score is not None]
        results = dict.fromkeys(one.shown for one in reversed(shown) if one is not None and not one.addressed)
        for result in list(results)[:_RESULTS]:
            parts = _judged_parts(tasks[name], result)
            numbers = range(_FIRST_AGAIN, _FIRST_AGAIN + readings)
            asked += [((name, result), [(part, number) for part in parts]) for number in numbers]
    prompts = [ask_judge(part, range(len(part.criteria)), number) for _, read in asked for part, number in read]
    replies = iter(judge.replies(prompts, JUDGE_SCHEMA))
    more: dict[tuple[str, str], list[str]] = {}
    for place, read in asked:
        marks = [_read(next(replies).text, part, number) for part, number in read]
        more.setdefault(place, []).append("".join(marks))
    return more


def _judged_parts(task: Task, result: str) -> list[JudgedResult]:
    """Return what is judged of a result: once for each rubric that the task has."""
    specs = (spec for spec in task.verifier.parts if spec.kind in JUDGED_KINDS)
    return [judged_by(read_options(RubricOptions, spec), task.prompt, result) for spec in specs]


def _read(reply: str, judged: JudgedResult, number: int) -> str:
    """Read the marks of a reply; one that cannot be read, or counts for nothing, has none."""
    asked = range(len(judged.criteria))
    try:
        reading = read_judge(reply, judged, asked, number)
    except ReplyError:
        return "-" * len(asked)
    return "-" * len(asked) if reading.misled else reading.marks


def _shown(name: str | None, suite: Path | None) -> _ShownSuite:
    """Read the suite of a skill, or a file or folder of tasks; nothing is run."""
    selection, named = Selection(name, suite=suite), Path.cwd() / name if name else None
    project = selection.project()
    if suite is None and named is not None and _holds_no_skill(named) and not project.has_skill(str(name)):
        return _contents(read_tasks(named), ())
    target = project.target(selection)
    others = find_triggers(target.folder)
    if target.suite_path is None and not others:
        raise UsageError(
            f"skill {target.name!r} has no tasks; add evals/evals.json, or name a suite with --suite PATH "
            "(`skillopt docs suite-format` lists the formats)"
        )
    path = target.suite_path or others[0]
    return _contents(read_tasks(path), tuple(other for other in others if other != path))


def _contents(reading: Reading, others: tuple[Path, ...]) -> _ShownSuite:
    triggers = [*reading.triggers, *_triggers(others)]
    should = sum(each.should_trigger for each in triggers)
    suite = plan_suite(reading) if reading.tasks else None
    tasks = tuple(_tasks(suite)) if suite else ()
    few = "training needs at least two tasks, so that a change learnt from one is judged on another"
    return _ShownSuite(
        reading.name,
        reading.format if tasks else "",
        str(reading.path) if tasks else "",
        tasks,
        reading.skipped,
        (should, len(triggers) - should),
        collected_code_note(suite) if suite else "",
        "" if len(tasks) > 1 else f"{few}; `evaluate` and `gate` work with one" if tasks else few,
    )


def _holds_no_skill(path: Path) -> bool:
    return path.exists() and path.name != SKILL_FILE and not (path / SKILL_FILE).is_file()


def _triggers(paths: tuple[Path, ...]) -> Iterator[Trigger]:
    """Read further sets of triggers; one that cannot be read has none."""
    for path in paths:
        try:
            yield from read_tasks(path).triggers
        except SuiteError:
            continue


def _tasks(suite: Suite) -> Iterator[_SuiteTask]:
    folds = {task.id: number for number, fold in enumerate(suite.folds or (), 1) for task in fold}
    for split, task in suite.splits:
        yield _task(task, f"fold {folds[task.id]}" if task.id in folds else split)


def _task(task: Task, part: str | Split) -> _SuiteTask:
    kinds = tuple(spec.kind for spec in task.verifier.parts if spec.kind not in JUDGED_KINDS)
    judged = (json.loads(spec.options) for spec in task.verifier.parts if spec.kind in JUDGED_KINDS)
    criteria = sum(len(options.get("criteria", ())) for options in judged)
    return _SuiteTask(task.id, str(part), kinds, criteria, len(task.files))
