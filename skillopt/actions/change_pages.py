"""Show how a change moved single tasks: a page with both sides of each, and the worst of them for a summary."""

from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import UsageError
from skillopt.project import Target
from skillopt.reports.before_after import BeforeAfter, before_after_page, describe_worst, find_differing_tasks
from skillopt.runs.change_measurement import ChangeMeasurement
from skillopt.tasks import Split, Suite

__all__ = ["MovedTasks", "show_moved_tasks"]


@dataclass(frozen=True, slots=True)
class MovedTasks:
    """How a measurement is shown, task by task."""

    page: str
    worst: str


def show_moved_tasks(
    target: Target, suite: Suite, measured: ChangeMeasurement, labels: tuple[str, str], folder: Path | None
) -> MovedTasks:
    """Write the page of a measurement, named by its run, and describe the worst tasks."""
    if measured.judged is None:
        return MovedTasks("", "")
    changed = find_differing_tasks(suite.tasks(Split.VAL), measured.pairs, target.settings.metric)
    page = f"{measured.run}.html" if folder else ""
    if folder is not None:
        count = len({rollout.task_id for rollout in measured.pairs.before})
        shown = BeforeAfter(target.name, *labels, suite.name, measured.reason, count, changed, measured.run)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / page).write_text(before_after_page(shown), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {folder / page}: {error.strerror}; choose another --pages") from error
    return MovedTasks(page, describe_worst(changed))
