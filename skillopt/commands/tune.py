"""The command `tune`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import (
    HarnessOption,
    JsonOption,
    MinutesOption,
    ModelOption,
    PresetOption,
    QuietOption,
    SeedOption,
    SetOption,
    SkillArgument,
    StartOption,
    SuiteOption,
    TokensOption,
    UsdOption,
    check_cap_option,
    flags_of,
    select,
)
from skillopt.commands.output import interruptible, show

if TYPE_CHECKING:
    from skillopt.actions.tune import Tuned

__all__ = ["tune"]


def tune(
    skill: SkillArgument = None,
    *,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Settings to try, those in force included.")] = 16,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Runs of the loop for each of them.")] = 8,
    space: Annotated[str, typer.Option("--space", metavar="NAME,..", help="Settings to search; all by default.")] = "",
    suite: SuiteOption = None,
    preset: PresetOption = None,
    seed: SeedOption = None,
    harness: HarnessOption = None,
    model: ModelOption = None,
    max_rollouts: Annotated[
        int | None,
        typer.Option(
            "--max-rollouts", callback=check_cap_option, help="Cap on rollouts newly run for the whole search."
        ),
    ] = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    start: StartOption = "auto",
    settings: SetOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search for settings under which training gains more.

    Every trial runs the real loop once for each seed. Nothing is committed and the held-out test is not touched. The
    same command continues a search that was interrupted. Needs Optuna: pip install 'PATH-OF-CLONE[tune]'.
    """
    from skillopt.actions.tune import TuneOptions
    from skillopt.actions.tune import tune as run
    from skillopt.commands.progress import ProgressObserver

    caps = {"max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = flags_of(settings, preset=preset, seed=seed, harness=harness, model=model, **caps)
    names = tuple(name.strip() for name in space.split(",") if name.strip())
    options = TuneOptions(trials, seeds, names, max_rollouts)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        found = run(select(skill, suite, flags), options, start=start, observer=observer)
    show(found, _text, as_json=as_json)


def _text(found: "Tuned") -> str:
    """Show a search: its trials, best first, and the lines for skillopt.toml."""
    lines = [f"study {found.study}: {len(found.trials)} trials, each of up to {len(found.seeds)} runs of the loop"]
    lines += [found.reason] if found.reason else []
    if found.best is None:
        return "\n".join([*lines, "no trial is complete yet; the same command goes on"])
    lines += ["| trial | score | rollouts | runs | settings |", "| ---: | ---: | ---: | ---: | --- |"]
    ranked = sorted(found.trials, key=lambda one: (one.number != found.best, one.pruned, -one.score))
    for one in ranked:
        runs = f"{len(one.scores)}{', pruned' if one.pruned else ''}"
        params = " ".join(f"{name}={value}" for name, value in one.params.items())
        lines.append(f"| {one.number + 1} | {one.score:.3f} | {one.rollouts:.0f} | {runs} | {params} |")
    advice = f"trial {found.best + 1}, though the best of many looks better than it is; for skillopt.toml:"
    lines.append(f"best: {advice}\n{found.settings.rstrip()}" if found.settings else "best: the settings in force")
    lines += [f"newly run: {found.paid_rollouts} rollouts", f"plots: {found.plot}", f"study: sqlite:///{found.storage}"]
    return "\n".join(lines)
