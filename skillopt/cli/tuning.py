"""The command `tune`: its options, and its result as text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import (
    HarnessOption,
    JsonOption,
    MinutesOption,
    ModelOption,
    PresetOption,
    QuietOption,
    SandboxOption,
    SeedOption,
    SetOption,
    SkillArgument,
    StartOption,
    SuiteOption,
    TokensOption,
    UsdOption,
    WorkersOption,
    flags_of,
    select,
)
from skillopt.cli.output import interruptible, show

if TYPE_CHECKING:
    from skillopt.commands.tune import Tuned

__all__ = ["tune"]

_MOST_ATTEMPTS = 12


def tune(
    skill: SkillArgument = None,
    *,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Settings to try, those in force included.")] = 16,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Runs of the loop for each of them.")] = 8,
    space: Annotated[
        list[str] | None,
        typer.Option("--space", metavar="NAMES|FILE", help="Settings to search: NAME,NAME or a file FILE.toml."),
    ] = None,
    held_out: Annotated[
        float, typer.Option("--held-out", min=0.0, max=1.0, help="Share of train tasks that only score.")
    ] = 0.25,
    prune_error: Annotated[
        float,
        typer.Option("--prune-error", min=0.0, max=0.5, help="Risk of giving up settings as good as any; 0: none."),
    ] = 0.1,
    check: Annotated[int, typer.Option("--check", min=0, help="Further seeds to compare the result on.")] = 8,
    plot: Annotated[Path | None, typer.Option("--plot", help="Where the plot (SVG) goes.")] = None,
    suite: SuiteOption = None,
    preset: PresetOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    harness: HarnessOption = None,
    sandbox: SandboxOption = None,
    model: ModelOption = None,
    max_rollouts: Annotated[
        int, typer.Option("--max-rollouts", min=0, help="Cap on rollouts newly run for the whole search; 0 for none.")
    ] = 0,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    start: StartOption = "auto",
    settings: SetOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search for settings that gain more, or as much for fewer rollouts.

    Every trial runs the real loop once for each seed. Nothing is committed and the sealed test is not touched. The
    same command continues a search that was interrupted. Needs Optuna: pip install 'skillopt-mcp[tune]'.
    """
    from skillopt.cli.progress import ProgressWatch
    from skillopt.commands.tune import TuneOptions
    from skillopt.commands.tune import tune as run

    flags = flags_of(
        settings,
        preset=preset,
        seed=seed,
        workers=workers,
        harness=harness,
        sandbox=sandbox,
        model=model,
        max_usd=max_usd,
        max_tokens=max_tokens,
        max_minutes=max_minutes,
    )
    names = tuple(name.strip() for text in space or [] for name in text.split(",") if name.strip())
    options = TuneOptions(trials, seeds, names, held_out, prune_error, check, max_rollouts, plot)
    with interruptible(), ProgressWatch(quiet=quiet) as watch:
        found = run(select(skill, suite, flags), options, start=start, watch=watch)
    show(found, _text, as_json=as_json)


def _text(result: "Tuned") -> str:
    from skillopt.reports.attempts_table import format_attempts

    lines = [
        f"search {result.study} on {result.skill}: {len(result.attempts)} settings tried, each by {_cases(result)}"
    ]
    lines += [result.reason] if result.reason else []
    if result.recommended is None:
        return "\n".join([*lines, "no settings are measured yet; the same command goes on"])
    lines.append(format_attempts(result.attempts, result.recommended, most=_MOST_ATTEMPTS))
    if result.check:
        lines.append(f"recommended, on further seeds that chose nothing: {result.check}")
    elif result.recommended:
        lines.append("not compared on further seeds: the scores above are those of a winner, and flatter it")
    settings = (
        f"recommended, for skillopt.toml:\n{result.settings.rstrip()}"
        if result.settings
        else "recommended: the settings in force"
    )
    return "\n".join([*lines, settings, f"newly run: {result.paid_rollouts} rollouts", f"plot: {result.plot}"])


def _cases(result: "Tuned") -> str:
    return f"{len(result.cases)} runs ({result.cases[0]} to {result.cases[-1].rpartition(' ')[2]}) at most"
