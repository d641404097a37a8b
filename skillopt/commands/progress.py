"""Progress of a run on stderr: one line a step, and a live line on a terminal."""

import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from skillopt.commands.output import fold_lines
from skillopt.execution.runner import Activity, RunObserver
from skillopt.loop.events import (
    DraftGraded,
    EditScreened,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    PatchTested,
    RunStarted,
    StepStarted,
    TrainMeasured,
    VersionAccepted,
)
from skillopt.reports.lines import RunLines
from skillopt.safety.escaping import escape_terminal
from skillopt.storage.jobs import JobProgress, note_progress
from skillopt.targets.prices import write_dollars

if TYPE_CHECKING:
    from skillopt.settings import Settings

_PLAIN_EVERY: Final = 30.0  # seconds between plain progress lines inside one batch
_STARTING: Final = "starting"

_NEWS: Final = (GateDecided, VersionAccepted, DraftGraded, HeldOutTestMeasured)
"""What whoever waits for a job is told at once."""


class ProgressObserver(RunObserver):
    """Follows a run; use as a context manager. In a background job it also writes down how far the job is."""

    def __init__(
        self,
        *,
        quiet: bool = False,
        proposal: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._proposal, self._clock = proposal, clock
        self._settings: Settings | None = None
        self._replayed = 0
        self._place = _STARTING
        self._planned = 0
        self._noted = JobProgress()
        self._lines = RunLines()
        self._began = self._last_plain = clock()
        self._bar: Progress | None = None
        if self._console.is_terminal and not quiet:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=20), MofNCompleteColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task(_STARTING, total=None)

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

    def begins(self, settings: "Settings") -> None:
        """Show what is used of its caps from here on."""
        self._settings = settings

    def notice(self, text: str) -> None:
        """Show it above the live line."""
        self._print(escape_terminal(text) if "\n" not in text else text)

    def replays(self, events: int) -> None:
        """Print nothing for what an earlier command printed."""
        self._replayed = events

    def event(self, event: Event) -> None:
        """Print what happened, if it is worth a line."""
        if isinstance(event, RunStarted):
            self._planned = event.steps
            self._place = "the edits together" if self._proposal else "baseline"
        elif self._proposal and isinstance(event, PatchTested | EditScreened):
            self._place = "each edit left out" if isinstance(event, PatchTested) else "gate"
        elif isinstance(event, StepStarted | TrainMeasured):
            self._place = f"step {event.step} of {self._planned}" if self._planned else "learning"
        if isinstance(event, _NEWS):
            self._note(replace(self._noted, news=self._noted.news + 1))
        for line, worked in self._lines.tell(event):
            if not self._replayed:
                self._print(f"{line}{f'  [{self._used()}]' if worked else ''}")
        self._replayed = max(0, self._replayed - 1)

    def activity(self, activity: Activity) -> None:
        """Show how far the batch is."""
        self._note(
            JobProgress(
                "" if self._place == _STARTING else self._place,
                activity.kind,
                activity.done,
                activity.total,
                asked=activity.asked,
                spent=activity.spent,
                roles=activity.roles,
                news=self._noted.news,
            )
        )
        text = f"{self._place}: {activity.kind}, {self._used()}"
        if self._bar:
            self._bar.update(self._task, description=text, completed=activity.done, total=activity.total)
        elif self._clock() - self._last_plain > _PLAIN_EVERY:
            self._last_plain = self._clock()
            self._print(f"{text}: {activity.done} of {activity.total}")

    def _note(self, progress: JobProgress) -> None:
        self._noted = progress
        note_progress(progress)

    def _print(self, line: str) -> None:
        self._console.print(fold_lines(line), markup=False, soft_wrap=True)

    def _used(self) -> str:
        """Return the time in minutes and seconds, and what was used of each cap."""
        minutes, seconds = divmod(int(self._clock() - self._began), 60)
        caps, spent = self._settings, self._noted.spent
        rollouts, tokens, most = (caps.max_rollouts, caps.max_tokens, caps.max_usd) if caps else (None, None, None)
        parts = [f"{minutes}:{seconds:02}", f"{self._noted.asked:,}{_of(rollouts)} rollouts"]
        known = spent.usd or spent.at_least
        if known or most:
            least = "at least " if spent.usd is None else ""
            parts.append(f"{least}{write_dollars(known)}{f' of {write_dollars(most)}' if most else ''}")
        if spent.usd is None or tokens:
            parts.append(f"{spent.tokens:,}{_of(tokens)} tokens")
        return ", ".join(parts)


def _of(cap: int | None) -> str:
    return f" of {cap:,}" if cap else ""
