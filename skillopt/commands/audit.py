"""The command `audit`: its options, and its result as text."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import (
    HarnessOption,
    JsonOption,
    MinutesOption,
    QuietOption,
    RolloutsOption,
    SetOption,
    TokensOption,
    UsdOption,
    VerboseOption,
    WorkersOption,
    YesOption,
    flags_of,
)
from skillopt.commands.output import as_json_text, format_usage, interruptible, show, write_report
from skillopt.commands.spending import ask_to_pay
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.plurals import count_noun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillopt.audit.findings import AuditedSkill, AuditReport, RemovalOffer, SiblingFinding

__all__ = ["audit"]


def audit(
    skills: Annotated[list[str] | None, typer.Argument(help="Skills, by name or folder; all when left out.")] = None,
    *,
    pairs: Annotated[
        int, typer.Option("--pairs", min=1, max=10_000, help="Most pairs of rollouts, with and without, of a skill.")
    ] = 100,
    loss: Annotated[
        float, typer.Option("--loss", min=0.01, max=0.5, help="Score that the removal of an idle skill may lose.")
    ] = 0.1,
    siblings: Annotated[
        bool, typer.Option("--siblings", help="Find which skills disturb others, too, by the others' tasks.")
    ] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write an HTML page.")] = None,
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Write the result as JSON.")] = None,
    offer: Annotated[
        bool, typer.Option("--offer", help="Propose the removal of idle skills in a pull request.")
    ] = False,
    forge: Annotated[str | None, typer.Option("--forge", help="Where it goes to: github, gitlab or none.")] = None,
    remote: Annotated[str | None, typer.Option("--remote", help="Git remote to push to.")] = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    harness: HarnessOption = None,
    max_rollouts: RolloutsOption = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    yes: YesOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find which skills help, hurt or lie idle.

    Every skill is compared with no skill on its own tasks, pair by pair, until there is an answer. With --siblings each
    is also run with all others of the project beside it, and, where it does worse then, with each of them alone. The
    removal of an idle skill is proposed, with what it loses at most; nothing is removed. With --offer one pull request
    deletes them, and without a forge a branch of this repository. Before money is spent for the first time, a terminal
    is asked; without a terminal a paid target needs a cap, or --yes.
    """
    from skillopt.actions.audit import audit as run
    from skillopt.actions.audit import audit_and_offer, plan_audit
    from skillopt.audit.subjects import AuditAsk
    from skillopt.commands.progress import ProgressObserver

    caps = {"max_rollouts": max_rollouts, "max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = flags_of(settings, workers=workers, harness=harness, forge=forge, remote=remote, **caps)
    plan = plan_audit(AuditAsk(tuple(skills or ()), pairs, loss, flags, siblings=siblings))
    if not quiet and not offer:  # with --offer, the process that audits says it
        typer.echo(plan.words, err=True)
    ask_to_pay(plan.payment, plan.words, yes=yes)
    if offer:
        given = {"pairs": pairs, "loss": loss, "workers": workers, "harness": harness, **caps}
        with interruptible():
            more = [name for name, wanted in (("--siblings", siblings), ("--quiet", quiet)) if wanted]
            report = audit_and_offer(plan, [*_options(given, settings), *more])
    else:
        with interruptible(), ProgressObserver(quiet=quiet) as observer:
            report = run(plan, observer)
    if save is not None:
        write_report(save, as_json_text(report), "--save")
    show(report, partial(_text, verbose=verbose), as_json=as_json)
    if output is not None:
        from skillopt.audit.audit_page import render_audit_page

        write_report(output, render_audit_page(report))
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _options(given: "Mapping[str, object]", settings: list[str] | None) -> list[str]:
    """Write options as they were given, for the process that audits."""
    named = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]
    return [*named, *(f"--set={setting}" for setting in settings or ())]


def _text(report: "AuditReport", *, verbose: bool) -> str:
    from collections import Counter

    counts = Counter(one.effect.value for one in report.skills)
    listed = ", ".join(f"{counts[name]} {name}" for name in ("helps", "idle", "hurts", "unknown") if counts[name])
    removable = [escape_terminal(one.skill) for one in report.skills if one.removable]
    lines = [f"{count_noun(len(report.skills), 'skill')}: {listed}", "", *_table(report.skills), ""]
    lines += [f"{escape_terminal(one.skill)}: {escape_terminal(one.reason)}" for one in report.skills]
    lines += [f"{escape_terminal(one.skill)} {escape_terminal(_beside(one))}" for one in report.siblings]
    lines += [f"ended early: {escape_terminal(report.stopped)}"] if report.stopped else []
    if report.offer is not None:
        lines += _offered(report.offer)
    elif removable:
        lines.append(f"proposed for removal: {', '.join(removable)}; nothing was removed")
    if counts["helps"] + counts["hurts"]:
        lines.append(
            f"of skills said to help or hurt at most {report.error:.0%} are wrong on average, all skills together"
        )
    lines.append(f"newly run: {count_noun(report.paid_rollouts, 'rollout')}, the rest was recorded")
    if verbose:
        lines += [f"spent by the {role}: {format_usage(usage)}" for role, usage in report.spent.items()]
    return "\n".join(lines)


def _beside(found: "SiblingFinding") -> str:
    """Return what was found of a skill with others beside it."""
    return found.words + (f"; disturbed by {', '.join(found.by)}" if found.by else "")


def _offered(offer: "RemovalOffer") -> list[str]:
    """Return what became of the pull request, and what is left to do."""
    lines = [escape_terminal(note) for note in offer.notes]
    names = escape_terminal(", ".join(offer.skills))
    if not names:
        return [*lines, f"no removal is proposed{f': {offer.action} {offer.url}' if offer.action else ''}"]
    said = f"{offer.action or 'unchanged'}: {offer.url}" if offer.url else "no pull request was opened"
    lines.append(f"proposed for removal: {names}, in {offer.commit[:10]} on {offer.branch}; {said}")
    return [*lines, *([f"next: {offer.next_step}"] if offer.next_step else [])]


def _table(skills: "tuple[AuditedSkill, ...]") -> list[str]:
    """Align the table; numbers to the right."""
    columns = "skill", "effect", "passed", "score gained (90% limits)", "pairs", "tasks", "tokens", "turns", "listing"
    rows: list[tuple[str, ...]] = [columns, *map(_row, skills)]
    if any(one.disturbs is not None for one in skills):
        disturbed = [escape_terminal(", ".join(one.disturbs or ())) or "-" for one in skills]
        rows = [(*row, cell) for row, cell in zip(rows, ["disturbs", *disturbed], strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = (0, 1, len(columns))
    return [
        "  ".join(
            cell.ljust(width) if at in texts else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _row(one: "AuditedSkill") -> tuple[str, ...]:
    passed, gained, costs = "-", "-", one.costs
    if one.passed_with is not None and one.passed_without is not None:
        passed = f"{one.passed_without:.0%} → {one.passed_with:.0%}"
    if one.gain is not None and one.low is not None and one.high is not None:
        gained = f"{one.gain:+.2f} ({one.low:+.2f} to {one.high:+.2f})"
    return (
        escape_terminal(one.skill),
        one.effect.value,
        passed,
        gained,
        str(one.pairs),
        str(one.tasks),
        "-" if costs.tokens is None else f"{costs.tokens:+,.0f}",
        "-" if costs.turns is None else f"{costs.turns:+.1f}",
        str(one.listing_tokens) if one.listing_tokens else "-",
    )
