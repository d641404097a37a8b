"""The commands `suite show` and `suite check`: what the tasks of a skill are, and what they can tell."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from skillopt.commands import output
from skillopt.commands.options import JsonOption, RunOptions, SkillArgument, SuiteOption, with_run_options
from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.drivers import load_drivers
from skillopt.gate.families import list_families
from skillopt.gate.judge_noise import judge_agreement
from skillopt.project import Selection
from skillopt.rollouts import Rollout
from skillopt.runs.forecast import what_it_can_show
from skillopt.runs.history import noticed_sections
from skillopt.runs.recorded import count_outcomes, recorded_rollouts
from skillopt.safety.escaping import count_noun, escape_terminal
from skillopt.skills.folder import SKILL_FILE
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import state_folder
from skillopt.suites import plan_suite, read_tasks
from skillopt.suites.oracles import OracleOutcome, find_oracles
from skillopt.suites.reading import Reading
from skillopt.suites.split_leaks import find_split_leaks
from skillopt.tasks import JUDGED_KINDS, Split, Suite, Task
from skillopt.verifiers.collected_files import executed_names, unpacking_commands

_MOST_TASKS: Final = 40
"""Rows of a list, which with its head and the next fill a screen; --json has all."""

_MOST_NAMES: Final = 8  # fit on a line of 160 characters with what stands before them

_READS, _APART = "read results", "run the agent's code apart"
_GAMED, _EXECUTES = "run the agent's code themselves and can be gamed", "may execute results"
_IN_IMAGE: Final = "run in the task's file system with the agent's code, as Harbor does, and can be gamed"
_UNPACKS: Final = "unpack or apply what the agent left"
_PROGRAMS: Final = (_READS, _UNPACKS, _APART, _IN_IMAGE, _GAMED, _EXECUTES)
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
    as_json: JsonOption = False,
) -> None:
    """Show the tasks of a skill, how each is scored, and what cannot be run.

    Reads any of the formats in `skillopt docs tasks-and-verifiers`; runs nothing and spends nothing.
    """
    output.show(_shown(skill, suite), lambda one: "\n".join(_lines(one)), as_json=as_json)


@suite.command()
@with_run_options
def check(skill: SkillArgument = None, *, options: RunOptions, as_json: JsonOption = False) -> None:
    """Check the tasks: outcomes, judge, leaks, power.

    Uses the results so far and spends nothing. It lists saturated, unsolved and flaky tasks, how far readings of the
    judge agree, leaks between splits, and the detectable gain. Of tasks that bring a solution (Harbor), the solution
    must pass and doing nothing must fail; this oracle is run once. `skillopt evaluate --repeats 3` adds results.
    """
    output.show(_checked(options.select(skill)), lambda one: "\n".join(_check_lines(one)), as_json=as_json)


def _check_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield from _outcome_lines(found)
    # The programs that check results by what they do with them, and those that need a look.
    programs: Mapping[str, Mapping[str, tuple[str, ...]]] = found["programs"]
    if counts := [f"{len(programs[kind])} {kind}" for kind in _PROGRAMS if programs[kind]]:
        yield f"programs that check: {', '.join(counts)}"
    links = "links in it do not work in the sandbox, and lead to the reference without one; let it refuse links"
    rows = [f"{task}: can be gamed: use `run-agent`" for task in programs[_GAMED]]
    rows += [
        f"{task}: may execute {_some(names)}: declare `runs: agent`" for task, names in programs[_EXECUTES].items()
    ]
    yield from _first([*rows, *(f"{task}: {_some(names)}: {links}" for task, names in programs[_UNPACKS].items())])
    if results := found["oracle"]:
        counting = sum(result.counts for result in results)
        of = count_noun(len(results), "task")
        yield f"oracle: in {counting} of {of} that bring a solution it passes and doing nothing fails"
        then = {True: "mend that and run this again", False: "runs leave the task out until that is corrected"}
        yield from _first(f"{one.task}: {one.words}; {then[one.broken]}" for one in results if not one.counts)
    if found["judge"] is not None:
        yield found["judge"].words
    leaks = found["leaks"]
    yield f"{count_noun(len(leaks), 'leak')} between tasks:" if leaks else "no leak between tasks was found"
    others = ("" if leak.task == leak.other else f" and {leak.other} ({leak.parts[1]})" for leak in leaks)
    yield from _first(
        f"{leak.task} ({leak.parts[0]}){other}: {leak.reason}" for leak, other in zip(leaks, others, strict=True)
    )
    for names in found["families"][:_MOST_TASKS]:
        yield f"one family, which every test counts once: {_some(names)}"
    yield f"power: {found['prospect'].words}"
    noticed, sections = found["noticed"]
    yield from [f"your tasks notice {noticed} of {count_noun(sections, 'section')}"] if noticed else []


def _outcome_lines(found: Mapping[str, Any]) -> Iterator[str]:
    runs = sum(task.runs for task in found["tasks"])
    known = sum(task.standing != "too few runs" for task in found["tasks"])
    tasks = count_noun(len(found["tasks"]), "task")
    yield f"{escape_terminal(found['skill'])}: {tasks}, {count_noun(runs, 'recorded rollout')}"
    if found["problem"]:
        yield f"results could not be read: {escape_terminal(found['problem'].splitlines()[0])}"
    elif not known:
        yield f"no task has runs enough to say how it goes: run `skillopt evaluate {found['skill']} --repeats 3`"
    for standing, note in _STANDINGS.items():
        if named := [task.task for task in found["tasks"] if task.standing == standing]:
            yield f"{len(named)} of {count_noun(known, 'task')} {note}: {_some(named)}"


def _first(rows: Iterable[str]) -> Iterator[str]:
    """Indent the first rows, and count the others."""
    listed = list(rows)
    yield from (f"  {escape_terminal(row)}" for row in listed[:_MOST_TASKS])
    if len(listed) > _MOST_TASKS:
        yield f"  … {len(listed) - _MOST_TASKS} more (--json lists them)"


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return escape_terminal(", ".join(names[:_MOST_NAMES]) + more)


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    tasks, skipped = found["tasks"], found["skipped"]
    left_out = f", {len(skipped)} left out" if skipped else ""
    where = f" in {_short(found['path'])} (format {found['format']})" if tasks else ""
    yield f"{escape_terminal(found['name'])}: {count_noun(len(tasks), 'task')}{where}{left_out}"
    width = max((len(task["id"]) for task in tasks[:_MOST_TASKS]), default=0)
    yield from _first(f"{task['part']:<6}  {task['id'].ljust(width)}  {_scored(task)}" for task in tasks)
    if judged := sum(task["criteria"] > 0 for task in tasks):
        of = f"{judged} of {count_noun(len(tasks), 'task')}"
        yield f"{of} {'needs' if judged == 1 else 'need'} a judge: a model, named by the setting `judge`"
    if skipped:
        yield "left out:"
        for each in skipped:
            yield f"  {_short(str(each.path))}:{each.line}: {escape_terminal(f'{each.name}: {each.reason}')}"
    yield from (f"note: {escape_terminal(note)}" for note in (found["code"], found["training"]) if note)


def _scored(task: Mapping[str, Any]) -> str:
    kinds = [kind if count == 1 else f"{count} {kind}" for kind, count in Counter(task["checks"]).items()]
    judged = [f"judge ({count_noun(task['criteria'], 'criterion', 'criteria')})"] if task["criteria"] else []
    files = f"; {count_noun(task['files'], 'file')}" if task["files"] else ""
    return f"{', '.join(kinds + judged)}{files}"


def _short(path: str) -> str:
    """Return a path as it is seen from here."""
    place, here = Path(path).absolute(), Path.cwd()
    return escape_terminal(str(place.relative_to(here) if place.is_relative_to(here) else path))


def _checked(selection: Selection) -> dict[str, Any]:
    project = selection.project()
    target = project.target(selection)
    suite, settings = target.suite(every=True), target.settings
    problem, rollouts = "", dict[str, list[Rollout]]()
    try:
        drivers = load_drivers(settings, suite, project.root, optimizer=False)
        with closing(Ledger.open(project.root, read_only=True)) as ledger:
            rollouts = recorded_rollouts(ledger, drivers, suite)
    except SkilloptError as error:
        problem = str(error) if (project.root / ".skillopt" / "ledger.db").exists() else ""
    noticed = 0, 0  # in a folder without a skill or git
    with suppress(SkilloptError):
        noticed = noticed_sections(project.repository(), target.skill())
    results: Sequence[OracleOutcome] = ()
    brought = [task for _, task in suite.splits if task.environment is not None]
    if brought and (oracles := find_oracles()) is not None:
        results = oracles.check(brought, state_folder(project.root), _notice, settings.sandbox)
    return {
        "skill": target.name,
        "tasks": count_outcomes(suite, rollouts),
        "judge": judge_agreement(rollout for own in rollouts.values() for rollout in own),
        "programs": _programs(suite),
        "oracle": results,
        "leaks": find_split_leaks(suite),
        "families": list_families([task for _, task in suite.splits]),
        "prospect": what_it_can_show(suite, settings),
        "noticed": noticed,
        "problem": problem,
    }


def _notice(text: str) -> None:
    typer.echo(escape_terminal(text), err=True)


def _programs(suite: Suite) -> dict[str, dict[str, tuple[str, ...]]]:
    """Sort tasks by what their programs do with the agent's files, with the files that one seems to execute."""
    found: dict[str, dict[str, tuple[str, ...]]] = {kind: {} for kind in _PROGRAMS}
    for _, task in suite.splits:
        for spec in (part for part in task.verifier.parts if part.kind == "command"):
            options = json.loads(spec.options)
            read = () if options.get("runs") else options.get("collect") or ()
            executed = executed_names(read, options["argv"], spec.files)
            gamed = _GAMED if task.environment is None else _IN_IMAGE
            others = _READS if not options.get("runs") else gamed if spec.can_be_gamed else _APART
            unpacking = unpacking_commands(options["argv"], spec.files) if others == _READS and not executed else ()
            found[_EXECUTES if executed else _UNPACKS if unpacking else others][task.id] = executed or unpacking
    return found


def _shown(name: str | None, suite: Path | None) -> dict[str, Any]:
    """Read the suite of a skill, or a file or folder of tasks; nothing is run."""
    selection, named = Selection(name, suite=suite), Path.cwd() / name if name else None
    project = selection.project()
    is_skill = named is None or named.name == SKILL_FILE or (named / SKILL_FILE).is_file()
    known = {*project.entries, *project.skill_names().values()}
    if suite is None and named is not None and named.exists() and not is_skill and name not in known:
        return _contents(read_tasks(named))
    target = project.target(selection)
    if target.suite_path is None:
        raise UsageError(
            f"skill {target.name!r} has no tasks; add evals/evals.json, or name a suite with --suite PATH "
            "(`skillopt docs tasks-and-verifiers` lists the formats)"
        )
    return _contents(target.reading())


def _contents(reading: Reading) -> dict[str, Any]:
    suite = plan_suite(reading) if reading.tasks else None
    folds = {task.id: f"fold {number}" for number, fold in enumerate((suite and suite.folds) or (), 1) for task in fold}
    tasks = tuple(_task(task, folds.get(task.id, split)) for split, task in suite.splits) if suite else ()
    few = "training needs at least two tasks, so that a change learnt from one is judged on another"
    return {
        "name": reading.name,
        "format": reading.format if tasks else "",
        "path": str(reading.path) if tasks else "",
        "tasks": tasks,
        "skipped": reading.skipped,
        "code": suite.gamed_note if suite else "",
        "training": "" if len(tasks) > 1 else f"{few}; `evaluate` and `gate` work with one" if tasks else few,
    }


def _task(task: Task, part: str | Split) -> dict[str, Any]:
    programs = (spec for spec in task.verifier.parts if spec.kind not in JUDGED_KINDS)
    kinds = tuple(f"{spec.kind}{' (can be gamed)' if spec.can_be_gamed else ''}" for spec in programs)
    judged = (json.loads(spec.options) for spec in task.verifier.parts if spec.kind in JUDGED_KINDS)
    criteria = sum(len(options.get("criteria", ())) for options in judged)
    return {"id": task.id, "part": str(part), "checks": kinds, "criteria": criteria, "files": len(task.files)}
