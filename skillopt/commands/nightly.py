"""The command `nightly` and its three steps: their options, and their results as text and as Markdown for a summary."""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from skillopt.commands.options import (
    JsonOption,
    QuietOption,
    SetOption,
    SummaryOption,
    YesOption,
    check_cap_option,
    flags_of,
)
from skillopt.commands.output import interruptible, show, write_report
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import ask_to_pay, can_ask, foresee_night
from skillopt.errors import InfrastructureError, UsageError
from skillopt.execution.credentials import run_without_credentials
from skillopt.execution.interrupts import EXIT_INTERRUPTED
from skillopt.execution.metering import Caps
from skillopt.nightly.check import check_night
from skillopt.nightly.handover import OFFERS, ReviewState
from skillopt.nightly.night import Nightly, SkillNight, Training
from skillopt.nightly.offer import offer_night
from skillopt.nightly.offers import RecordMaking
from skillopt.nightly.train import train_night
from skillopt.project import Project
from skillopt.reports.markdown import cited, paragraphs, print_markdown, web_link, write_table
from skillopt.safety.escaping import count_noun, escape_terminal
from skillopt.storage.locks import state_folder

_TRAIN: Final = (sys.executable, "-P", "-m", "skillopt", "nightly", "train")
_MOST_SHOWN = 200  # rows: GitHub shows a summary of 1 MiB at most
_MOST_DETAILED = 50  # for the same reason
_LONGEST = 400  # characters of a remark: three lines
_MOST_NAMES = 10  # of skills that share a line of the terminal
_SIGNS = {"failed": "❌", "stopped": "⏸️", "waiting": "⏸️", "busy": "⏸️", "ignored": "⏸️"}

_RolloutsOption = Annotated[
    int | None, typer.Option("--max-rollouts", callback=check_cap_option, help="Rollouts that the night may begin.")
]
_UsdOption = Annotated[
    float | None, typer.Option("--max-usd", callback=check_cap_option, help="US dollars that the night may spend.")
]


def nightly(
    step: Annotated[
        Literal["check", "train", "offer"] | None, typer.Argument(help="One of the three steps; without it, all.")
    ] = None,
    folder: Annotated[Path | None, typer.Argument(help="offer: what `nightly train` wrote.")] = None,
    *,
    out: Annotated[
        Path | None, typer.Option("--output", help="check: file for what the forge says. train: folder for the offers.")
    ] = None,
    state: Annotated[Path | None, typer.Option("--state", help="train: what `nightly check` wrote.")] = None,
    pull_request: Annotated[
        int,
        typer.Option("--pull-request", min=0, help="check: only the skill that this pull request is about; 0 for all."),
    ] = 0,
    record: Annotated[
        RecordMaking, typer.Option("--record", help="Make records of accepted texts, from which `gate` starts.")
    ] = "no",
    max_rollouts: _RolloutsOption = None,
    max_usd: _UsdOption = None,
    summary: SummaryOption = None,
    settings: SetOption = None,
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train every skill that is due, and offer what improved.

    Three steps: check asks the forge and runs no model. train has no token, reaches no forge, and refuses to start
    where a token is in reach. offer pushes only commits that change nothing but a skill, and opens, updates or closes
    pull requests. One pull request for each skill, kept up to date. Running a step again goes on where it stopped. Ends
    with 3 when something failed; the other skills are trained all the same. On a terminal all three together ask before
    money is spent for the first time.
    """
    flags, budget = flags_of(settings), Caps(max_usd or 0.0, rollouts=max_rollouts or 0)
    if step is None and can_ask():
        payment = foresee_night(flags, capped=bool(max_rollouts or max_usd))
        ask_to_pay(payment, "the training of every skill that is due", yes=yes)
    with interruptible():
        match step:
            case "check":
                path = _given(out, "--output", step)
                checked = check_night(path, flags=flags, pull_request=pull_request)
                show(checked.model_dump(), lambda _: _checked(checked, path), as_json=as_json)
                return
            case "train":
                paths = _given(state, "--state", step), _given(out, "--output", step)
                with ProgressObserver(quiet=quiet) as observer:
                    found = train_night(*paths, budget, flags=flags, observer=observer, record=record)
            case "offer":
                found = offer_night(_given(folder, "FOLDER", step), flags=flags)
            case _:
                values = {"--max-rollouts": max_rollouts, "--max-usd": max_usd, "--record": record}
                options = [f"{name}={value}" for name, value in values.items() if value is not None]
                options += [*(["--quiet"] if quiet else []), *(f"--set={setting}" for setting in settings or ())]
                found = _take_steps(options, flags)
    show(found, _text, as_json=as_json)
    if summary is not None:
        write_report(summary, render_night(found), "--summary", append=True)
    if found.broken:
        raise typer.Exit(3)


def _given(path: Path | None, option: str, step: str) -> Path:
    if path is None:
        raise UsageError(f"nightly {step}: expected {option}, found none; `skillopt nightly --help` says what it is")
    return path


def _take_steps(options: Sequence[str], flags: Mapping[str, object]) -> Nightly:
    """Check, train and offer; training has a process of its own, without tokens."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="night-", dir=state_folder(Project.find(here).root)) as night:
        state, out = Path(night, "state.json"), Path(night, "offers")
        check_night(state, flags=flags, folder=here)
        code = run_without_credentials([*_TRAIN, "--state", str(state), "--output", str(out), *options], here)
        if code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt
        if not (out / OFFERS).is_file():
            if code == UsageError.exit_code:
                raise UsageError("nothing was trained, for the reason above")
            raise InfrastructureError(f"training ended with {code} and left no result; see above, and run this again")
        return offer_night(out, flags=flags, project=here)


def _checked(found: ReviewState, path: Path) -> str:
    lines = [f"asked for: {asked.verb} in {asked.url}" for one in found.skills for asked in one.asked]
    requests = [request for one in found.skills for request in (*one.versions, *one.drafts)]
    opened = count_noun(sum(one.state == "open" for one in requests), "open pull request")
    skills = count_noun(len(found.skills), "skill")
    lines.append(f"forge {found.forge}: {skills}, {opened}; written to {path}")
    return "\n".join(map(escape_terminal, lines))


def _text(night: Nightly) -> str:
    """Return what became of skills; of which there is the same to say, such as a forge's limit, share a line."""
    skills: dict[str, list[str]] = {}
    for row in night.skills:
        told = any(one.action or one.withheld for one in row.offers.values()) or row.answers
        if told or row.training is Training.FAILED:
            skills.setdefault(_outcome(row), []).append(row.skill)
    lines = []
    for outcome, names in skills.items():
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        lines.append(f"{', '.join(names[:_MOST_NAMES])}{more}: {outcome}")
    counts = Counter(row.training for row in night.skills)
    kinds = ", ".join(f"{counts[kind]} {kind.value}" for kind in Training if counts[kind])
    drafts = sum(row.draft.is_open for row in night.skills)  # also one that waits since an earlier night
    waiting = f", {count_noun(drafts, 'draft')} to look at" if drafts else ""
    why = next((f", not due: {row.reason}" for row in night.skills if row.training is Training.NOT_DUE), "")
    skills_words = f"{count_noun(len(night.skills), 'skill')} ({kinds})"
    lines.append(
        f"{_improved(night)}{waiting}: {skills_words}{why}, {night.rollouts} rollouts begun, {night.spent.price}"
    )
    return "\n".join(lines)


def _improved(night: Nightly) -> str:
    improved = sum(row.offer.action in {"opened", "updated"} for row in night.skills)
    return f"{improved} improved" if improved else "nothing improved"


def _outcome(row: SkillNight) -> str:
    done = []
    for kind, one in row.offers.items():
        words = escape_terminal(one.title.partition(": ")[2])  # of which the name of the skill is said before
        done += [f"{kind}pull request {one.action}: {one.url}{words and f', {words}'}"] if one.action else []
    failed = [f"FAILED: {row.reason}"] if row.training is Training.FAILED else []
    return "; ".join((*failed, *done, *row.answers, *row.notes))


def render_night(night: Nightly) -> str:
    """Render a night as Markdown for a job's summary: headline, a row for each skill, and what went wrong."""
    failed = sum(row.training is Training.FAILED for row in night.skills)
    columns = ("", "skill", "training", "new versions", "rollouts", "pull request")
    more = len(night.skills) - _MOST_SHOWN
    return print_markdown(
        paragraphs(
            f"## Skill training: {_improved(night)}{f', {failed} failed' if failed else ''}",
            f"{count_noun(len(night.skills), 'skill')}, {night.rollouts} rollouts begun, {night.spent.price}.",
            write_table(columns, map(_row, night.skills[:_MOST_SHOWN])),
            *(part for row in night.skills[:_MOST_DETAILED] for part in _details(row)),
            f"{more} more skills are not shown." if more > 0 else "",
        )
    )


def _row(row: SkillNight) -> tuple[str, ...]:
    offers = []
    for kind, one in row.offers.items():
        if one.action:  # with no forge the address is the path of a file, and is shown as code
            number = one.url.rpartition("/")[2]
            name = f"#{number}" if number.isdecimal() and number.isascii() else "pull request"
            offers.append(f"{kind}{one.action} {web_link(one.url, name)}")
    sign = _SIGNS.get(row.training, "✅" if row.versions else "")
    return sign, cited(row.skill, 80), row.training.value, str(row.versions), str(row.rollouts), ", ".join(offers)


def _details(row: SkillNight) -> Iterator[str]:
    skill = cited(row.skill, 80)
    silent = (Training.NO_SUITE, Training.NOT_DUE)
    why = [text for text in (row.cause, row.reason) if text and row.training not in silent]
    if why:
        yield f"{skill}{f' (run {row.run})' if row.run else ''}: {'; '.join(cited(text, _LONGEST) for text in why)}"
    told = (row.recorded, row.described, *row.answers, *row.notes)
    yield from (f"{skill}: {cited(text, _LONGEST)}" for text in told if text)
