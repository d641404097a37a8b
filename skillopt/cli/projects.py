"""The commands that set a project up: `init`, `doctor`."""

from typing import Annotated, Literal

import typer

from skillopt.cli.app import app
from skillopt.cli.options import JsonOption
from skillopt.cli.output import show

__all__: list[str] = []


@app.command()
def init(
    *,
    client: Annotated[
        Literal["claude-code", "codex", "both"] | None, typer.Option(help="Register skillopt-mcp with it instead.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take what --client added out again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what --client would change.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write skillopt.toml for the skills that are there."""
    if client or undo or dry_run:
        from skillopt.commands.registration import register  # noqa: PLC0415 - imported on use

        register(client, announce=lambda told: show(told, as_json=as_json), undo=undo, dry_run=dry_run)
        return
    from skillopt.commands.init import init as run  # noqa: PLC0415 - imported on use

    show(run(), as_json=as_json)


@app.command()
def doctor(
    *,
    probe: Annotated[bool, typer.Option("--probe", help="Spend one call for each role.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check what a run needs.

    Ends with 2 when something is amiss; each failing row says how to mend it.
    """
    from skillopt.commands.doctor import doctor as run  # noqa: PLC0415 - imported on use

    diagnosis = run(probe=probe)
    show(diagnosis, as_json=as_json)
    if not diagnosis.healthy:
        raise typer.Exit(2)
