"""Progress of a run on stderr: a live line on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from skillopt.execution.runner import Activity, RunObserver
from skillopt.loop.event_lines import describe
from skillopt.loop.events import Event, RunStarted, StepStarted

__all__ = ["ProgressObserver"]

_PLAIN_EVERY = 10.0
"""Seconds between plain progress lines inside one batch."""


class ProgressObserver(RunObserver):
    """Follows a run; use as a context manager.

    Args:
        quiet: Show nothing.
        max_rollouts: Cap of the run, 0 for none; what is left of it is shown.
    """

    def __init__(self, *, quiet: bool = False, max_rollouts: int = 0) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._cap = max_rollouts
        self._asked = 0
        self._step = "baseline"
        self._epochs = False
        self._score = ""
        self._last_plain = time.monotonic()
        self._bar: Progress | None = None
        if self._console.is_terminal and not quiet:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        """Start the live line, on a terminal."""
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the live line."""
        if self._bar:
            self._bar.stop()

    def notice(self, text: str) -> None:
        """Show it above the live line."""
        self._console.print(text, markup=False, soft_wrap=True)

    def event(self, event: Event) -> None:
        """Print what happened, if it is worth a line."""
        if isinstance(event, RunStarted):
            self._epochs = event.steps > 0
        elif isinstance(event, StepStarted):
            self._step = f"epoch {event.epoch} step {event.step}" if self._epochs else f"step {event.step}"
        line = describe(event)
        if line:
            self._console.print(line, markup=False, soft_wrap=True)

    def activity(self, activity: Activity) -> None:
        """Show how far the batch is."""
        if activity.kind == "rollouts" and activity.done == activity.total:
            self._asked += activity.total
        left = f", {max(0, self._cap - self._asked)} rollouts left" if self._cap else ""
        score = "" if activity.score is None else f", score {activity.score:.3f}"
        text = f"{self._step}: {activity.kind}{score}{left}"
        if self._bar:
            self._bar.update(self._task, description=text, completed=activity.done, total=activity.total)
        elif time.monotonic() - self._last_plain > _PLAIN_EVERY:
            self._last_plain = time.monotonic()
            self._console.print(f"{text}: {activity.done}/{activity.total}", markup=False, soft_wrap=True)
