"""The command `nightly` and its three steps: their options, and their results as text and as Markdown for a summary."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from skillopt.commands.options import (
    JsonOption,
    QuietOption,
    SetOption,
    SummaryOption,
    WorkersOption,
    YesOption,
    check_cap_option,
    flags_of,
)
from skillopt.commands.output import append_report, interruptible, show

if TYPE_CHECKING:
    from skillopt.actions.nightly.check import Checked
    from skillopt.nightly.night import Nightly, SkillNight

__all__ = ["nightly", "render_night"]

_MOST_SHOWN = 200
_MOST_NAMES = 10
_LONGEST = 400
_SIGNS = {"failed": "❌", "stopped": "⏸️", "waiting": "⏸️", "busy": "⏸️", "ignored": "⏸️"}

_RolloutsOption = Annotated[
    int | None, typer.Option("--max-rollouts", callback=check_cap_option, help="Rollouts that the night may begin.")
]
_UsdOption = Annotated[
    float | None, typer.Option("--max-usd", callback=check_cap_option, help="US dollars that the night may spend.")
]
_AtOnceOption = Annotated[
    int, typer.Option("--at-once", min=1, max=64, help="Skills that are trained at a time, with --workers in all.")
]
_ForgeOption = Annotated[str | None, typer.Option("--forge", help="Where pull requests go: github, gitlab or none.")]
_RemoteOption = Annotated[str | None, typer.Option("--remote", help="Git remote to push to; empty for none.")]

nightly: Final = typer.Typer(
    name="nightly",
    add_completion=False,
    help="Train every skill that is due, and offer what improved: all three steps, or one of them.",
    rich_markup_mode=None,
    invoke_without_command=True,
)


@nightly.callback()
def whole(
    context: typer.Context,
    *,
    max_rollouts: _RolloutsOption = None,
    max_usd: _UsdOption = None,
    at_once: _AtOnceOption = 1,
    forge: _ForgeOption = None,
    remote: _RemoteOption = None,
    summary: SummaryOption = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train every skill that is due, and offer what improved.

    Without a step, all three: check asks the forge, train has no token, offer pushes and opens pull requests. One pull
    request for each skill, kept up to date. Running it again goes on where it stopped. Ends with 3 when something
    failed; the other skills are trained all the same. On a terminal it asks before money is spent for the first time.
    """
    if context.invoked_subcommand is not None:
        return
    from skillopt.actions.nightly.night import nightly as run
    from skillopt.commands.spending import ask_to_pay, can_ask, foresee_night

    flags = flags_of(settings, workers=workers, forge=forge, remote=remote)
    if can_ask():
        capped = bool(max_rollouts or max_usd)
        ask_to_pay(foresee_night(flags, capped=capped), "the training of every skill that is due", yes=yes)

    caps = {"--max-rollouts": max_rollouts, "--max-usd": max_usd}
    options = [f"{name}={cap}" for name, cap in caps.items() if cap is not None] + [f"--at-once={at_once}"]
    options += ["--quiet"] if quiet else []
    options += [f"--set={setting}" for setting in settings or ()]
    options += [f"--workers={workers}"] if workers is not None else []
    with interruptible():
        found = run(options, flags=flags)
    _show_night(found, summary, as_json=as_json)


@nightly.command()
def check(
    *,
    out: Annotated[Path, typer.Option("--out", help="File for what the forge says.")],
    pull_request: Annotated[
        int, typer.Option("--pull-request", min=0, help="Only the skill that this pull request is about; 0 for all.")
    ] = 0,
    forge: _ForgeOption = None,
    remote: _RemoteOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the forge what a night has to know; run no model, spend nothing.

    Can pull requests be opened with the token, which are open or closed, and what do people ask for in them. Fails
    where the night could not offer what it trained. Needs the token; what it writes has none.
    """
    from skillopt.actions.nightly.check import check_night

    flags = flags_of(settings, forge=forge, remote=remote)
    with interruptible():
        found = check_night(out, flags=flags, pull_request=pull_request)
    show(found, _checked, as_json=as_json)


@nightly.command()
def train(
    *,
    state: Annotated[Path, typer.Option("--state", help="What `nightly check` wrote.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for what is to be offered.")],
    max_rollouts: _RolloutsOption = None,
    max_usd: _UsdOption = None,
    at_once: _AtOnceOption = 1,
    summary: SummaryOption = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train every skill that is due; refuse where a token of the forge is in reach.

    Writes branches as a git bundle, and the texts of pull requests. Reaches neither remote nor forge.
    """
    from skillopt.actions.nightly.train import train_night
    from skillopt.commands.progress import ProgressObserver
    from skillopt.nightly.night import Budget

    budget, flags = Budget(max_rollouts or 0, max_usd or 0.0, at_once), flags_of(settings, workers=workers)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        found = train_night(state, out, budget, flags=flags, observer=observer)
    _show_night(found, summary, as_json=as_json)


@nightly.command()
def offer(
    folder: Annotated[Path, typer.Argument(help="What `nightly train` wrote.")],
    *,
    forge: _ForgeOption = None,
    remote: _RemoteOption = None,
    summary: SummaryOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Push branches and open, update or close pull requests; run no model.

    Needs the token. Pushes only branches of skills, and only commits that change nothing but the skill. Doing it again
    changes nothing. Gives the result of the whole night.
    """
    from skillopt.actions.nightly.offer import offer_night

    with interruptible():
        found = offer_night(folder, flags=flags_of(settings, forge=forge, remote=remote))
    _show_night(found, summary, as_json=as_json)


def _show_night(found: "Nightly", summary: Path | None, *, as_json: bool) -> None:
    show(found, _text, as_json=as_json)
    if summary is not None:
        append_report(summary, render_night(found), "--summary")
    if found.broken:
        raise typer.Exit(3)


def _checked(found: "Checked") -> str:
    from skillopt.safety.escaping import escape_terminal

    who = f" as {found.login}" if found.login else ""
    kind = "public" if found.public else "private"
    place = f"forge {found.forge}{who}, {kind} repository" if found.forge != "none" else "no forge"
    lines = [f"asked for: {asked.verb} in {asked.url}" for asked in found.asked]
    lines += [f"closed by people: {url}" for url in found.closed]
    skills = f"{found.skills} skill{'' if found.skills == 1 else 's'}"
    lines.append(f"{place}: {skills}, {len(found.open)} open pull requests; written to {found.state}")
    return "\n".join(map(escape_terminal, lines))


def _text(result: "Nightly") -> str:
    from skillopt.nightly.night import Training

    told = [
        one
        for one in result.skills
        if one.offer.action or one.draft.action or one.description.action or one.answers or one.training == "failed"
    ]
    lines = _night_lines(told)
    counts = Counter(row.training.value for row in result.skills)
    kinds = ", ".join(f"{counts[kind.value]} {kind.value}" for kind in Training if counts[kind.value])
    improved = sum(row.offer.action in ("opened", "updated") for row in result.skills)
    head = f"{improved} improved" if improved else "nothing improved"
    drafts = sum(row.draft.action in ("opened", "updated") for row in result.skills)
    head += f", {drafts} draft{'' if drafts == 1 else 's'} to look at" if drafts else ""
    described = sum(row.description.action in ("opened", "updated") for row in result.skills)
    head += f", {described} description{'' if described == 1 else 's'} to look at" if described else ""
    skills = f"{len(result.skills)} skill{'' if len(result.skills) == 1 else 's'}"
    lines += [f"FAILED: {problem}" for problem in result.problems]
    lines += [f"dashboard: {result.dashboard}"] if result.dashboard else []
    return "\n".join([*lines, f"{head}: {skills} ({kinds}), {result.rollouts} rollouts begun, {result.price}"])


def _night_lines(rows: Sequence["SkillNight"]) -> list[str]:
    """Return what became of skills; of which there is the same to say, such as a forge's limit, share a line."""
    skills: dict[str, list[str]] = {}
    for row in rows:
        skills.setdefault(_outcome(row), []).append(row.skill)
    lines = []
    for outcome, names in skills.items():
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        lines.append(f"{', '.join(names[:_MOST_NAMES])}{more}: {outcome}")
    return lines


def _outcome(row: "SkillNight") -> str:
    from skillopt.nightly.night import Training

    offers = (
        ("pull request", row.offer),
        ("draft pull request", row.draft),
        ("pull request of the description", row.description),
    )
    done = "; ".join(f"{what} {offer.action}: {offer.url}" for what, offer in offers if offer.action)
    failed = f"FAILED: {row.reason}" if row.training is Training.FAILED else ""
    said = (failed or done, failed and done, *row.answers, *row.offer.notes, *row.draft.notes, *row.description.notes)
    return "; ".join(filter(None, said))


def render_night(night: "Nightly") -> str:
    """Render a night as Markdown for a job's summary: headline, a row for each skill, and what went wrong."""
    from skillopt.nightly.night import Training

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
    parts += [f"❌ {_code(problem)}" for problem in night.problems]
    parts += [f"Dashboard: {_code(night.dashboard)}"] if night.dashboard else []
    if len(night.skills) > _MOST_SHOWN:
        parts.append(f"{len(night.skills) - _MOST_SHOWN} more skills are not shown.")
    return "\n\n".join(parts) + "\n"


def _row(row: "SkillNight") -> str:
    sign = _SIGNS.get(row.training, "✅" if row.versions else "")
    from skillopt.reports.escape_markdown import web_link

    offers = (("", row.offer), ("draft ", row.draft), ("description ", row.description))
    # With no forge the address is the path of a file, and is shown as code.
    offer = ", ".join(
        f"{what}{one.action} {web_link(one.url, _request(one.url))}" for what, one in offers if one.action
    )
    cells = (sign, _code(row.skill, 80), row.training.value, str(row.versions), str(row.rollouts), offer)
    return f"| {' | '.join(cells)} |"


def _request(url: str) -> str:
    """Name a pull request by its address."""
    number = url.rpartition("/")[2]
    return f"#{number}" if number.isdecimal() and number.isascii() else "pull request"


def _details(row: "SkillNight") -> Iterator[str]:
    from skillopt.nightly.night import Training

    why = [text for text in (row.cause, row.reason) if text and row.training is not Training.NO_SUITE]
    if why:
        run = f" (run {row.run})" if row.run else ""
        yield f"{_code(row.skill, 80)}{run}: {'; '.join(_code(text) for text in why)}"
    if row.described:
        yield f"{_code(row.skill, 80)}: {_code(row.described)}"
    for note in (*row.answers, *row.offer.notes, *row.draft.notes, *row.description.notes):
        yield f"{_code(row.skill, 80)}: {_code(note)}"


def _code(text: str, most: int = _LONGEST) -> str:
    """Show a text from a repository or a provider as code that it cannot leave."""
    from skillopt.reports.escape_markdown import inline_code
    from skillopt.safety.escaping import truncate

    return inline_code(truncate(text, most))
