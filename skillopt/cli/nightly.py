"""The command `nightly`: its options, and its result as text and as Markdown for a job's summary."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption, QuietOption, SetOption, SummaryOption, WorkersOption, YesOption, flags_of
from skillopt.cli.output import append_report, interruptible, show

if TYPE_CHECKING:
    from skillopt.commands.nightly import Nightly, SkillNight

__all__ = ["nightly", "render_night"]

_MOST_SHOWN = 200
_LONGEST = 400
_SIGNS = {"failed": "❌", "stopped": "⏸️", "waiting": "⏸️", "busy": "⏸️"}


def nightly(
    *,
    max_rollouts: Annotated[int, typer.Option("--max-rollouts", min=0, help="Rollouts that the night may begin.")] = 0,
    max_usd: Annotated[float, typer.Option("--max-usd", min=0, help="US dollars that the night may spend.")] = 0.0,
    forge: Annotated[str | None, typer.Option("--forge", help="Where to open pull requests: github or none.")] = None,
    remote: Annotated[str | None, typer.Option("--remote", help="Git remote to push to; empty for none.")] = None,
    summary: SummaryOption = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train every skill that is due, and offer what improved.

    One pull request for each skill, kept up to date. Running it again goes on where it stopped. Ends with 3 when
    something failed; the other skills are trained all the same. On a terminal it asks before money is spent for the
    first time.
    """
    from skillopt.cli.progress import ProgressObserver
    from skillopt.cli.spending import ask_to_pay, can_ask
    from skillopt.commands.nightly import Budget
    from skillopt.commands.nightly import nightly as run
    from skillopt.commands.spending import foresee_night

    flags = flags_of(settings, workers=workers, forge=forge, remote=remote)
    if can_ask():
        capped = bool(max_rollouts or max_usd)
        ask_to_pay(foresee_night(flags, capped=capped), "the training of every skill that is due", yes=yes)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        found = run(Budget(max_rollouts, max_usd), flags=flags, observer=observer)
    show(found, _text, as_json=as_json)
    if summary is not None:
        append_report(summary, render_night(found), "--summary")
    if found.broken:
        raise typer.Exit(3)


def _text(result: "Nightly") -> str:
    from skillopt.commands.nightly import Training

    told = [row for row in result.skills if row.offer.action or row.draft.action or row.training is Training.FAILED]
    lines = [_night(row) for row in told]
    counts = Counter(row.training.value for row in result.skills)
    kinds = ", ".join(f"{counts[kind.value]} {kind.value}" for kind in Training if counts[kind.value])
    improved = sum(row.offer.action in ("opened", "updated") for row in result.skills)
    head = f"{improved} improved" if improved else "nothing improved"
    drafts = sum(row.draft.action in ("opened", "updated") for row in result.skills)
    head += f", {drafts} draft{'' if drafts == 1 else 's'} to look at" if drafts else ""
    skills = f"{len(result.skills)} skill{'' if len(result.skills) == 1 else 's'}"
    return "\n".join([*lines, f"{head}: {skills} ({kinds}), {result.rollouts} rollouts begun, {result.price}"])


def _night(row: "SkillNight") -> str:
    from skillopt.commands.nightly import Training

    offers = (("pull request", row.offer), ("draft pull request", row.draft))
    done = "; ".join(f"{what} {offer.action}: {offer.url}" for what, offer in offers if offer.action)
    failed = f"FAILED: {row.reason}" if row.training is Training.FAILED else ""
    return "; ".join(
        filter(None, (f"{row.skill}: {failed or done}", failed and done, *row.offer.notes, *row.draft.notes))
    )


def render_night(night: "Nightly") -> str:
    """Render a night as Markdown for a job's summary: headline, a row for each skill, and what went wrong.

    Args:
        night: What became of each skill.
    """
    from skillopt.commands.nightly import Training

    offered = sum(row.offer.action in {"opened", "updated"} for row in night.skills)
    failed = sum(row.training is Training.FAILED for row in night.skills)
    head = f"{offered} improved" if offered else "nothing improved"
    count = f"{len(night.skills)} skill{'' if len(night.skills) == 1 else 's'}"
    parts = [
        f"## Skill training: {head}{f', {failed} failed' if failed else ''}",
        f"{count}, {night.rollouts} rollouts begun, {night.price}.",
    ]
    if night.skills:
        rows = ["| | skill | training | new versions | rollouts | pull request |", "|" + "---|" * 6]
        parts.append("\n".join([*rows, *map(_row, night.skills[:_MOST_SHOWN])]))
    parts += [detail for row in night.skills[:_MOST_SHOWN] for detail in _details(row)]
    if len(night.skills) > _MOST_SHOWN:
        parts.append(f"{len(night.skills) - _MOST_SHOWN} more skills are not shown.")
    return "\n\n".join(parts) + "\n"


def _row(row: "SkillNight") -> str:
    sign = _SIGNS.get(row.training, "✅" if row.versions else "")
    # The forge's own address is shown as code, too: with no forge it is the path of a file.
    offers = (("", row.offer), ("draft ", row.draft))
    offer = ", ".join(f"{what}{one.action} {_code(one.url)}" for what, one in offers if one.action)
    cells = (sign, _code(row.skill, 80), row.training.value, str(row.versions), str(row.rollouts), offer)
    return f"| {' | '.join(cells)} |"


def _details(row: "SkillNight") -> Iterator[str]:
    from skillopt.commands.nightly import Training

    why = [text for text in (row.cause, row.reason) if text and row.training is not Training.NO_SUITE]
    if why:
        run = f" (run {row.run})" if row.run else ""
        yield f"{_code(row.skill, 80)}{run}: {'; '.join(_code(text) for text in why)}"
    for note in (*row.offer.notes, *row.draft.notes):
        yield f"{_code(row.skill, 80)}: {_code(note)}"


def _code(text: str, most: int = _LONGEST) -> str:
    """Show a text from a repository or a provider as code that it cannot leave."""
    from skillopt.reports.escape_markdown import inline_code
    from skillopt.safety.escaping import truncate

    return inline_code(truncate(text, most))
