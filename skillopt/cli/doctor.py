"""The command `doctor`."""

from typing import Annotated

import typer

from skillopt.cli.options import JsonOption
from skillopt.cli.output import show

__all__ = ["doctor"]


def doctor(
    *,
    probe: Annotated[bool, typer.Option("--probe", help="Spend one call for each role.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check what a run needs.

    Ends with 2 when something is amiss; each failing row says how to mend it.
    """
    from skillopt.commands.doctor import doctor as run

    diagnosis = run(probe=probe)
    show(diagnosis, as_json=as_json)
    if not diagnosis.healthy:
        raise typer.Exit(2)
