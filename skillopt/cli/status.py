"""The command `status`."""

from typing import TYPE_CHECKING

from skillopt.cli.options import JsonOption
from skillopt.cli.output import show

if TYPE_CHECKING:
    pass

__all__ = ["status"]


def status(*, as_json: JsonOption = False) -> None:
    """List the runs of this project."""
    from skillopt.commands.status import status as run

    show(run(), as_json=as_json)
