"""The command `benchmark`: hand over to the published benchmarks, which only a clone of the repository has."""

from importlib import import_module
from importlib.util import find_spec

import typer

from skillopt.errors import UsageError

__all__ = ["benchmark"]

benchmark = typer.Typer(add_completion=False, rich_markup_mode=None)


@benchmark.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def run_benchmark(context: typer.Context) -> None:
    """Measure no skill, a start text and a trained one on a published benchmark.

    It is in the repository, not in the package: in a clone, `make test` or `make demo` sets up the command that has it.
    `skillopt docs published` describes it.
    """
    if find_spec("benchmarks") is None or find_spec("benchmarks.published") is None:
        raise UsageError(
            "expected the published benchmarks, found the package alone; clone the repository of skillopt-mcp, run "
            "`make check` there once, then `.venv/bin/skillopt benchmark --list` (`skillopt docs published`)"
        )
    raise typer.Exit(import_module("benchmarks.published.__main__").main(context.args))
