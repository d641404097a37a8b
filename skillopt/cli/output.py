"""Results on stdout, as text or JSON, and the end of a command that was interrupted.

Does not own how a result looks (console).
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import typer

__all__ = ["INTERRUPTED", "as_json_text", "interruptible", "show"]

INTERRUPTED = 130


@contextmanager
def interruptible() -> Iterator[None]:
    """End with 130 on Ctrl-C and say how to go on; Typer itself would end without a word."""
    try:
        yield
    except KeyboardInterrupt as error:
        typer.echo("interrupted; everything answered so far is kept, run the same command to continue", err=True)
        raise typer.Exit(INTERRUPTED) from error


def show(result: Any, *, as_json: bool) -> None:  # noqa: ANN401 - any command's frozen dataclass
    """Print a command's result."""
    if as_json:
        typer.echo(as_json_text(result))
        return
    from skillopt.console import render

    typer.echo(render(result))


def as_json_text(result: Any) -> str:  # noqa: ANN401 - any command's frozen dataclass
    """Give a command's result as JSON."""
    return json.dumps(asdict(result), ensure_ascii=False, indent=2, default=_plain)


def _plain(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
