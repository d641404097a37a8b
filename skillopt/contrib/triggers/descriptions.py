"""What the core asks of trained descriptions: nights, and a library's listing."""

from collections.abc import Sequence

import typer

from skillopt.commands.output import interruptible, show
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import ask_to_pay
from skillopt.contrib.triggers.description import is_described
from skillopt.contrib.triggers.library import LibraryReport, read_library, shorten_library
from skillopt.contrib.triggers.nights import train_descriptions
from skillopt.contrib.triggers.plan import TriggerAsk
from skillopt.contrib.triggers.trigger import trained_text
from skillopt.nightly.night import SkillNight
from skillopt.nightly.offers import Night
from skillopt.project import Selection
from skillopt.reports.terminal import print_terminal
from skillopt.safety.escaping import escape_terminal


class TriggerDescriptions:
    """Trains descriptions on requests that should load the skill, and others."""

    def train_due(self, night: Night, rows: list[SkillNight]) -> None:
        """Train the descriptions that are due, and add to rows and offers what came of that."""
        train_descriptions(night, rows)

    def is_described(self, before: bytes, after: bytes) -> bool:
        """Return whether two texts of a skill differ in the description alone."""
        return is_described(before, after)

    def shorten(self, names: Sequence[str], selection: Selection, *, repeats: int, drop: bool, **options: bool) -> None:
        """Show what clients list of all skills, and shorten descriptions unless `options` name a dry run."""
        library, report = read_library(names, TriggerAsk(selection, repeats=repeats, drop=drop)), None
        if library.plans and not options["dry_run"]:
            if not options["quiet"]:
                typer.echo(library.words, err=True)
            ask_to_pay(library.payment, library.words, yes=options["yes"])
            with interruptible(), ProgressObserver(quiet=options["quiet"]) as observer:
                report = shorten_library(library, observer, named=bool(names))
        show(report or library.report, _listing_text, as_json=options["as_json"])


def _listing_text(report: LibraryReport) -> str:
    tried = [f"{escape_terminal(one.skill)}: {trained_text(one, verbose=False)}" for one in report.shortened]
    return "\n".join([*report.lines, "", print_terminal(report.table), "", *tried, *map(escape_terminal, report.notes)])
