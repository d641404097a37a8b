"""The command `export`: its options, and its result as text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption
from skillopt.cli.output import show

if TYPE_CHECKING:
    from skillopt.commands.export import Exported

__all__ = ["export"]


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="FILE.parquet, or FILE.jsonl for JSON lines.")],
    *,
    whole: Annotated[
        bool, typer.Option("--whole", help="With trajectories: they quote tasks, answers and files.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write all recorded rollouts and replies to one table.

    One row an answer: run, task, digest of the skill, repeat, score, tokens, dollars, time. Parquet needs PyArrow:
    pip install 'PATH-OF-CLONE[export]'.
    """
    from skillopt.commands.export import export as run

    show(run(file, whole=whole), _text, as_json=as_json)


def _text(found: "Exported") -> str:
    return f"{found.rows} rows, {found.size} bytes: {found.path}"
