"""The command line: arguments in, results on stdout, progress on stderr, documented exit codes.

Owns parsing and exit codes. Commands are imported when they run, so that `--help` is quick. Does
not own what a command does (commands) or how a result looks (console).
"""

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from skillopt import __version__

if TYPE_CHECKING:
    from skillopt.project import Selection

__all__ = ["app", "main"]

_INTERRUPTED = 130

app = typer.Typer(
    name="skillopt",
    help="Train the skills of coding agents: rollouts, bounded edits, a validation gate, versions in git.",
    epilog="Exit codes: 0 done, 1 negative verdict, 2 usage or configuration, 3 infrastructure failure or invalid "
    "measurement, 130 interrupted (run the same command to continue).",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help takes half the time to show
    context_settings={"help_option_names": ["-h", "--help"]},
)

_SkillArgument = Annotated[
    str | None, typer.Argument(help="Name in skillopt.toml, or a skill folder. May be left out if there is only one.")
]
_SuiteOption = Annotated[
    Path | None, typer.Option("--suite", help="Suite folder or file, instead of the configured one.")
]
_SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, as often as needed.")
]
_SplitOption = Annotated[Literal["train", "val", "test"], typer.Option("--split", help="Which tasks; test is sealed.")]
_TrialsOption = Annotated[int, typer.Option("--trials", min=1, help="Runs of each task.")]
_PresetOption = Annotated[str | None, typer.Option("--preset", help="Set of settings: default or paper.")]
_SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of every draw.")]
_WorkersOption = Annotated[int | None, typer.Option("--workers", help="Calls made at a time; cannot change a result.")]
_HarnessOption = Annotated[str | None, typer.Option("--harness", help="How the target is run.")]
_SandboxOption = Annotated[str | None, typer.Option("--sandbox", help="Where agents run: auto, bwrap or none.")]
_ModelOption = Annotated[str | None, typer.Option("--model", help="The optimizer model.")]
_RolloutsOption = Annotated[int | None, typer.Option("--max-rollouts", help="Cap on rollouts of the run.")]
_CallsOption = Annotated[int | None, typer.Option("--max-calls", help="Cap on optimizer calls of the run.")]
_UsdOption = Annotated[float | None, typer.Option("--max-usd", help="Cap on US dollars of the run.")]
_TokensOption = Annotated[int | None, typer.Option("--max-tokens", help="Cap on tokens of the run.")]
_MinutesOption = Annotated[float | None, typer.Option("--max-minutes", help="Cap on minutes of this command.")]
_JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
_QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]


@app.callback(invoke_without_command=True)
def root(
    folder: Annotated[
        Path | None, typer.Option("-C", metavar="FOLDER", help="Work as if started in this folder.")
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Handle what comes before the command."""
    if version:
        typer.echo(f"skillopt-mcp {__version__}")
        raise typer.Exit
    if folder is not None:
        from skillopt.errors import UsageError  # noqa: PLC0415 - imported on use

        try:
            os.chdir(folder)
        except OSError as error:
            message = f"-C: cannot enter {str(folder)!r}: {error.strerror}"
            raise UsageError(message) from error


@app.command()
def init(
    *,
    client: Annotated[
        Literal["claude-code", "codex", "both"] | None, typer.Option(help="Register skillopt-mcp with it instead.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take what --client added out again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what --client would change.")] = False,
    as_json: _JsonOption = False,
) -> None:
    """Write skillopt.toml for the skills that are there."""
    if client or undo or dry_run:
        from skillopt.commands.registration import register  # noqa: PLC0415 - imported on use

        register(client, announce=lambda told: _show(told, as_json=as_json), undo=undo, dry_run=dry_run)
        return
    from skillopt.commands.init import init as run  # noqa: PLC0415 - imported on use

    _show(run(), as_json=as_json)


@app.command()
def doctor(
    *,
    probe: Annotated[bool, typer.Option("--probe", help="Spend one call for each role.")] = False,
    as_json: _JsonOption = False,
) -> None:
    """Check what a run needs.

    Ends with 2 when something is amiss; each failing row says how to mend it.
    """
    from skillopt.commands.doctor import doctor as run  # noqa: PLC0415 - imported on use

    diagnosis = run(probe=probe)
    _show(diagnosis, as_json=as_json)
    if not diagnosis.healthy:
        raise typer.Exit(2)


@app.command()
def estimate(
    skill: _SkillArgument = None,
    *,
    suite: _SuiteOption = None,
    preset: _PresetOption = None,
    settings: _SetOption = None,
    as_json: _JsonOption = False,
) -> None:
    """Tell what a run could take; spends nothing."""
    from skillopt.commands.estimate import estimate as run  # noqa: PLC0415 - imported on use

    _show(run(_select(skill, suite, _flags(settings, preset=preset))), as_json=as_json)


@app.command()
def evaluate(
    skill: _SkillArgument = None,
    *,
    of: Annotated[
        list[str] | None,
        typer.Option("--of", metavar="SUBJECT", help="worktree, none (no skill) or a version; repeat to compare."),
    ] = None,
    split: _SplitOption = "val",
    trials: _TrialsOption = 1,
    suite: _SuiteOption = None,
    settings: _SetOption = None,
    seed: _SeedOption = None,
    workers: _WorkersOption = None,
    harness: _HarnessOption = None,
    sandbox: _SandboxOption = None,
    max_usd: _UsdOption = None,
    max_tokens: _TokensOption = None,
    max_minutes: _MinutesOption = None,
    quiet: _QuietOption = False,
    as_json: _JsonOption = False,
) -> None:
    """Score the skill, a version, or no skill.

    With several subjects, each is compared with the first, task by task.
    """
    from skillopt.commands.evaluate import evaluate as run  # noqa: PLC0415 - imported on use
    from skillopt.progress import ProgressWatch  # noqa: PLC0415 - as above
    from skillopt.tasks import Split  # noqa: PLC0415 - as above

    caps = {"max_usd": max_usd, "max_tokens": max_tokens, "max_minutes": max_minutes}
    flags = _flags(settings, seed=seed, workers=workers, harness=harness, sandbox=sandbox, **caps)
    with _interruptible(), ProgressWatch(quiet=quiet) as watch:
        subjects = tuple(of or ["worktree"])
        selection = _select(skill, suite, flags)
        found = run(selection, subjects=subjects, split=Split(split), trials=trials, watch=watch)
    _show(found, as_json=as_json)


@app.command()
def optimize(
    skill: _SkillArgument = None,
    *,
    suite: _SuiteOption = None,
    preset: _PresetOption = None,
    seed: _SeedOption = None,
    workers: _WorkersOption = None,
    harness: _HarnessOption = None,
    sandbox: _SandboxOption = None,
    model: _ModelOption = None,
    max_rollouts: _RolloutsOption = None,
    max_calls: _CallsOption = None,
    max_usd: _UsdOption = None,
    max_tokens: _TokensOption = None,
    max_minutes: _MinutesOption = None,
    start: Annotated[
        Literal["auto", "worktree", "branch"], typer.Option(help="Which text to begin with when they differ.")
    ] = "auto",
    settings: _SetOption = None,
    quiet: _QuietOption = False,
    as_json: _JsonOption = False,
) -> None:
    """Train the skill, or go on with a run.

    The same command continues a run that was interrupted; what was answered is never paid again.
    """
    from skillopt.commands.optimize import optimize as run  # noqa: PLC0415 - imported on use
    from skillopt.progress import ProgressWatch  # noqa: PLC0415 - as above

    flags = _flags(
        settings,
        preset=preset,
        seed=seed,
        workers=workers,
        harness=harness,
        sandbox=sandbox,
        model=model,
        max_rollouts=max_rollouts,
        max_calls=max_calls,
        max_usd=max_usd,
        max_tokens=max_tokens,
        max_minutes=max_minutes,
    )
    with _interruptible(), ProgressWatch(quiet=quiet, max_rollouts=max_rollouts or 0) as watch:
        found = run(_select(skill, suite, flags), start=start, watch=watch)
    _show(found, as_json=as_json)


@app.command()
def transfer(
    skill: _SkillArgument = None,
    *,
    to: Annotated[
        list[str],
        typer.Option("--to", metavar="HARNESS", help="A target, such as codex or claude-code/MODEL; repeat for more."),
    ],
    version: Annotated[str | None, typer.Option("--version", help="A version, instead of the newest.")] = None,
    split: _SplitOption = "val",
    trials: _TrialsOption = 1,
    suite: _SuiteOption = None,
    settings: _SetOption = None,
    workers: _WorkersOption = None,
    max_usd: _UsdOption = None,
    max_tokens: _TokensOption = None,
    max_minutes: _MinutesOption = None,
    quiet: _QuietOption = False,
    as_json: _JsonOption = False,
) -> None:
    """Score a version on other targets.

    On each, it is compared task by task with no skill and with the text that training started from. Ends
    with 3 when a target could not be measured; the others are shown all the same.
    """
    from skillopt.commands.transfer import transfer as run  # noqa: PLC0415 - imported on use
    from skillopt.progress import ProgressWatch  # noqa: PLC0415 - as above
    from skillopt.tasks import Split  # noqa: PLC0415 - as above

    flags = _flags(settings, workers=workers, max_usd=max_usd, max_tokens=max_tokens, max_minutes=max_minutes)
    with _interruptible(), ProgressWatch(quiet=quiet) as watch:
        selection = _select(skill, suite, flags)
        found = run(selection, targets=to, version=version, split=Split(split), trials=trials, watch=watch)
    _show(found, as_json=as_json)
    if not found.complete:
        raise typer.Exit(3)


@app.command()
def status(*, as_json: _JsonOption = False) -> None:
    """List the runs of this project."""
    from skillopt.commands.status import status as run  # noqa: PLC0415 - imported on use

    _show(run(), as_json=as_json)


@app.command()
def log(skill: _SkillArgument = None, *, as_json: _JsonOption = False) -> None:
    """List the accepted versions of the skill, newest first.

    Each with the target it was trained on, and stale when another one is configured.
    """
    from skillopt.commands.history import log as run  # noqa: PLC0415 - imported on use

    _show(run(_select(skill)), as_json=as_json)


@app.command()
def diff(
    skill: _SkillArgument = None,
    before: Annotated[str | None, typer.Argument(help="A version, or worktree; the first text when left out.")] = None,
    after: Annotated[str | None, typer.Argument(help="A version, or worktree; the newest when left out.")] = None,
    *,
    as_json: _JsonOption = False,
) -> None:
    """Show what changed between two versions of the skill."""
    from skillopt.commands.history import diff as run  # noqa: PLC0415 - imported on use

    _show(run(_select(skill), before, after), as_json=as_json)


@app.command()
def rollback(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    version: Annotated[str, typer.Argument(help="The version to publish again.")],
    *,
    as_json: _JsonOption = False,
) -> None:
    """Publish an older version as a new commit."""
    from skillopt.commands.history import rollback as run  # noqa: PLC0415 - imported on use

    _show(run(_select(skill), version), as_json=as_json)


@app.command()
def report(
    run_id: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Id of the run; the newest when left out.")
    ] = None,
    *,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead of stdout.")] = None,
    as_json: _JsonOption = False,
) -> None:
    """Report a run as Markdown or JSON."""
    from skillopt.commands.status import report as run  # noqa: PLC0415 - imported on use
    from skillopt.console import render, write_report  # noqa: PLC0415 - as above

    found = run(run_id)
    text = _json(found) if as_json else render(found)
    if output is None:
        typer.echo(text)
    else:
        write_report(output, text)


def main() -> None:
    """Run the command line and end with the documented exit code."""
    try:
        app(prog_name="skillopt")
    except SystemExit as ended:
        if ended.code == _INTERRUPTED and threading.active_count() > 1:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_INTERRUPTED)  # calls that were dropped would be waited for, for minutes perhaps
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        from skillopt.errors import SkilloptError  # noqa: PLC0415 - imported on use

        if not isinstance(error, SkilloptError):
            raise
        typer.echo(f"skillopt: {error}", err=True)
        sys.exit(error.exit_code)


@contextmanager
def _interruptible() -> Iterator[None]:
    """End with 130 on Ctrl-C and say how to go on; Typer itself would end without a word."""
    try:
        yield
    except KeyboardInterrupt as error:
        typer.echo("interrupted; everything answered so far is kept, run the same command to continue", err=True)
        raise typer.Exit(_INTERRUPTED) from error


def _select(name: str | None, suite: Path | None = None, flags: Mapping[str, object] | None = None) -> "Selection":
    from skillopt.project import Selection  # noqa: PLC0415 - imported on use

    return Selection(name, flags or {}, suite)


def _flags(pairs: list[str] | None, **named: object) -> dict[str, object]:
    """Join `--set KEY=VALUE` pairs with the flags that were given."""
    flags: dict[str, object] = {}
    for pair in pairs or []:
        key, equals, text = pair.partition("=")
        if not equals:
            from skillopt.errors import SettingsError  # noqa: PLC0415 - imported on use

            message = f"--set: expected KEY=VALUE, found {pair!r}"
            raise SettingsError(message)
        flags[key] = tuple(filter(None, text.split(","))) if key == "allow" else text
    return flags | {key: value for key, value in named.items() if value is not None}


def _show(result: Any, *, as_json: bool) -> None:  # noqa: ANN401 - any command's frozen dataclass
    if as_json:
        typer.echo(_json(result))
        return
    from skillopt.console import render  # noqa: PLC0415 - imported on use

    typer.echo(render(result))


def _json(result: Any) -> str:  # noqa: ANN401 - any command's frozen dataclass
    return json.dumps(asdict(result), ensure_ascii=False, indent=2, default=_plain)


def _plain(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
