"""The user action `suite show`: what the tasks of a skill or file are, how each is scored, and what cannot be run."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import SuiteError, UsageError
from skillopt.execution.suite_checks import collected_code_note
from skillopt.project import Selection
from skillopt.skills.folder import SKILL_FILE
from skillopt.suites import plan_suite, read_tasks
from skillopt.suites.formats import find_triggers
from skillopt.suites.reading import Reading, Skipped, Trigger
from skillopt.tasks import JUDGED_KINDS, Split, Suite, Task

__all__ = ["ShownSuite", "SuiteTask", "show_suite"]


@dataclass(frozen=True, slots=True)
class SuiteTask:
    """One task."""

    id: str
    part: str
    checks: tuple[str, ...]
    criteria: int
    files: int


@dataclass(frozen=True, slots=True)
class ShownSuite:
    """What a suite holds."""

    name: str
    format: str
    path: str
    tasks: tuple[SuiteTask, ...]
    skipped: tuple[Skipped, ...]
    triggers: tuple[int, int]
    code: str
    training: str

    @property
    def judged(self) -> int:
        """Count the tasks that need a judge."""
        return sum(task.criteria > 0 for task in self.tasks)


def show_suite(name: str | None, *, suite: Path | None = None, folder: Path | None = None) -> ShownSuite:
    """Read the suite of a skill, or a file or folder of tasks; nothing is run."""
    here = folder or Path.cwd()
    named = here / name if name else None
    selection = Selection(name, suite=suite, folder=here)
    project = selection.project()
    if suite is None and named is not None and _holds_no_skill(named) and not project.has_skill(str(name)):
        return _shown(read_tasks(named), ())
    target = project.target(selection)
    others = find_triggers(target.folder)
    if target.suite_path is None and not others:
        raise UsageError(
            f"skill {target.name!r} has no tasks; add evals/evals.json, or name a suite with --suite PATH "
            "(`skillopt docs suite-format` lists the formats)"
        )
    path = target.suite_path or others[0]
    return _shown(read_tasks(path), tuple(other for other in others if other != path))


def _shown(reading: Reading, others: tuple[Path, ...]) -> ShownSuite:
    triggers = [*reading.triggers, *_triggers(others)]
    should = sum(each.should_trigger for each in triggers)
    suite = plan_suite(reading) if reading.tasks else None
    tasks = tuple(_tasks(suite)) if suite else ()
    return ShownSuite(
        reading.name,
        reading.format if tasks else "",
        str(reading.path) if tasks else "",
        tasks,
        reading.skipped,
        (should, len(triggers) - should),
        collected_code_note(suite) if suite else "",
        _training(len(tasks)),
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


def _tasks(suite: Suite) -> Iterator[SuiteTask]:
    folds = {task.id: number for number, fold in enumerate(suite.folds or (), 1) for task in fold}
    for split, task in suite.splits:
        yield _task(task, f"fold {folds[task.id]}" if task.id in folds else split)


def _task(task: Task, part: str | Split) -> SuiteTask:
    kinds = tuple(spec.kind for spec in task.verifier.parts if spec.kind not in JUDGED_KINDS)
    judged = (json.loads(spec.options) for spec in task.verifier.parts if spec.kind in JUDGED_KINDS)
    criteria = sum(len(options.get("criteria", ())) for options in judged)
    return SuiteTask(task.id, str(part), kinds, criteria, len(task.files))


def _training(tasks: int) -> str:
    if tasks > 1:
        return ""
    return "training needs at least two tasks, so that a change learnt from one is judged on another" + (
        "; `evaluate` and `gate` work with one" if tasks else ""
    )
