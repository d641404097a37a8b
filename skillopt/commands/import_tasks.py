"""The command `import`: its options, and its result as text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import interruptible, show
from skillopt.safety.plurals import count_noun

if TYPE_CHECKING:
    from skillopt.actions.import_tasks import ImportedTasks

__all__ = ["import_tasks"]


def import_tasks(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file or folder of tasks in any format.")],
    *,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FOLDER", help="New folder, instead of suites/ and the suite's name.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Copy tasks of another tool into a suite.

    Reads evals.json, promptfoo configurations, `claude plugin eval` cases, Harbor task folders and suites.
    What cannot be run is listed with its file, line and reason. An existing folder is never written to.
    """
    from skillopt.actions.import_tasks import import_tasks as run

    with interruptible():
        found = run(path, to)
    show(found, _text, as_json=as_json)


def _text(result: "ImportedTasks") -> str:
    tasks = count_noun(result.tasks, "task")
    lines = [f"{tasks} of {result.source} ({result.format}) written to {result.to}"]
    if result.commands:
        bring = "task brings" if result.commands == 1 else "tasks bring"
        lines.append(f"{result.commands} {bring} commands that judge your runs; read them before a run")
    if result.triggers:
        lines.append(f"{result.triggers} requests say only when the skill should be loaded; they are no tasks")
    if result.skipped:
        lines.append(f"{len(result.skipped)} left out:")
        lines += [f"  {each.path}:{each.line}: {each.name}: {each.reason}" for each in result.skipped]
    lines.append(f"next: skillopt estimate SKILL --suite {result.to}")
    return "\n".join(lines)
