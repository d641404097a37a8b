"""The command `show`."""

from typing import Annotated

import typer

from skillopt.cli.options import (
    JsonOption,
    select,
)
from skillopt.cli.output import show as print_result

__all__ = ["show"]


def show(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A version, as `skillopt log` lists it.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Show a version: what changed and why.

    Each edit with the tasks that motivated it, how it did alone, and what it is worth, as far as the ledger here
    holds that.
    """
    from skillopt.commands.show import show as run

    print_result(run(select(None), version), as_json=as_json)
