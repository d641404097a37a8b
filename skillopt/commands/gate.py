"""The command `gate`: its options, and its result as text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from skillopt.commands.options import (
    HarnessOption,
    JsonOption,
    MinutesOption,
    QuietOption,
    RolloutsOption,
    SetOption,
    SuiteOption,
    SummaryOption,
    TokensOption,
    UsdOption,
    WorkersOption,
    flags_of,
)
from skillopt.commands.output import append_report, interruptible, show, write_report

if TYPE_CHECKING:
    from skillopt.review.result import GateReport

__all__ = ["gate"]


def gate(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="What the change is to be merged into: a commit, branch or tag.")
    ],
    head: Annotated[
        str, typer.Argument(metavar="HEAD", help="The change: a commit, branch or tag, or worktree.")
    ] = "HEAD",
    *,
    require: Annotated[
        Literal["not-worse", "better"], typer.Option(help="Not worse, or shown to be better.")
    ] = "not-worse",
    margin: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            help="With not-worse: refuse unless a loss of so much is ruled out; 0: 0.2, without refusing.",
        ),
    ] = 0.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse for warnings and for a suite that could show nothing, too.")
    ] = False,
    release: Annotated[bool, typer.Option("--release", help="What passes on val is compared on test, too.")] = False,
    direct: Annotated[
        bool, typer.Option("--direct", help="Compare with BASE itself, not with the merge base.")
    ] = False,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")] = None,
    summary: SummaryOption = None,
    pages: Annotated[
        Path | None,
        typer.Option("--pages", metavar="FOLDER", help="Write HTML pages of how each task went before and after."),
    ] = None,
    github: Annotated[bool, typer.Option("--github", help="Print annotations for GitHub on stderr.")] = False,
    suite: SuiteOption = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    harness: HarnessOption = None,
    max_rollouts: RolloutsOption = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Gate a change of skills, whoever made it.

    Every skill that differs is validated, scanned, and measured on val against its old text: passed, refused, cannot
    tell, or untestable. Ends with 1 when one is refused, with 3 when one could not be measured, else with 0.
    """
    from skillopt.actions.gate import GateOptions
    from skillopt.actions.gate import gate as run
    from skillopt.commands.progress import ProgressObserver
    from skillopt.reports.gate_report import render_gate_text
    from skillopt.review.gate import Demand
    from skillopt.review.result import Required

    caps = {"max_rollouts": max_rollouts, "max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = flags_of(settings, workers=workers, harness=harness, **caps)
    demand = Demand(Required(require), margin, release)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        report = run(base, head, GateOptions(demand, strict, direct, flags, suite, pages=pages), observer)
    show(report, render_gate_text, as_json=as_json)
    _write(report, junit, summary, github)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _write(report: "GateReport", junit: Path | None, summary: Path | None, github: bool) -> None:
    """Write what was asked for beside the result."""
    from skillopt.reports.gate_report import render_annotations, render_gate_junit, render_gate_summary

    if github and (lines := render_annotations(report)):
        typer.echo(lines, err=True)
    if junit is not None:
        write_report(junit, render_gate_junit(report), "--junit")
    if summary is not None:
        append_report(summary, render_gate_summary(report), "--summary")
