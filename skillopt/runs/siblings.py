"""The setting `protect`: skills whose tasks no accepted version of another skill may lower."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from skillopt.errors import UsageError
from skillopt.gate.here import can_show_harm
from skillopt.loop.siblings import Sibling, error_for_each
from skillopt.project import CONFIG, Project, Selection, Target
from skillopt.suites import read_tasks
from skillopt.tasks import Split, Suite, Task

__all__ = [
    "protected_siblings",
    "with_siblings",
]

_MOST_TASKS: Final = 50


def protected_siblings(project: Project, target: Target, flags: Mapping[str, object]) -> tuple[Sibling, ...]:
    """Read the skills that training of another one may not disturb, with their `val` tasks."""
    names = target.settings.protect
    targets = {(one := project.target(Selection(name, flags, folder=project.root))).folder: one for name in names}
    targets.pop(target.folder, None)
    if targets:
        _check_held_out(target, targets.values())
    return tuple(_sibling(one, error_for_each(len(targets), target.settings.confidence)) for one in targets.values())


def with_siblings(suite: Suite, siblings: Sequence[Sibling]) -> Suite:
    """Return the tasks that the drivers of a run must be able to run and judge: its own, and those of its siblings.

    A suite refuses twins, so those of siblings get ids and prompts of their own; they are not run from here.
    """
    if not siblings:
        return suite
    more = tuple(
        (Split.TRAIN, replace(task, id=f"{one.name}/{task.id}", prompt=f"{one.name}: {task.prompt}"))
        for one in siblings
        for task in one.tasks
    )
    return Suite(suite.name, (*suite.splits, *more))


def _check_held_out(target: Target, siblings: Iterable[Target]) -> None:
    """Refuse `val` tasks of siblings that are `test` tasks of the trained skill: they would decide what is accepted."""
    held_out = {task.content_digest: task for task in target.suite().tasks(Split.TEST)}
    for one in siblings:
        for task in one.suite().tasks(Split.VAL):
            if twin := held_out.get(task.content_digest):
                raise UsageError(
                    f"{CONFIG} protect: expected no val task of {one.name!r} among the held-out tasks of "
                    f"{target.name!r}, found {task.id!r} ({_place(one, task)}) with prompt and files of {twin.id!r} "
                    f"({_place(target, twin)}); a held-out task decides nothing before a release: remove one of them"
                )


def _place(target: Target, task: Task) -> str:
    """Return the file of a task, and its line where the reader keeps lines."""
    if target.suite_path is None:
        return target.name
    reading = read_tasks(target.suite_path, commands=True)
    place = reading.places.get(task.id)
    return f"{place[0]}:{place[1]}" if place else str(reading.path)


def _sibling(target: Target, error: float) -> Sibling:
    tasks = target.suite().tasks(Split.VAL)
    if not can_show_harm(len(tasks), error):
        needed = next(count for count in range(2, _MOST_TASKS) if can_show_harm(count, error))
        raise UsageError(
            f"{CONFIG} protect: expected at least {needed} val tasks of {target.name!r}, with fewer no fall "
            f"can be shown, found {len(tasks)}; add some (`skillopt write-tasks {target.name}`), or take it out"
        )
    return Sibling(target.name, target.skill(), tasks)
