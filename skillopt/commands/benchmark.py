"""The command `benchmark`: hand over to the published benchmarks, which only a clone of the repository has."""

from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

from skillopt.errors import UsageError

benchmark = typer.Typer(add_completion=False, rich_markup_mode=None)


@benchmark.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run_benchmark(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A name that --list shows; then options as below.")
    ] = None,
) -> None:
    """Run a published benchmark: no skill, a start text and a trained one on its held-out tasks.

    It is in the repository, not in the package: clone it, and run `make check` there once (`skillopt docs published`).

    \b
    --list               list the benchmarks: size, licence, how to get them, cost
    --model MODEL        the optimizer model, and the target unless --harness is given
    --harness HARNESS    runs the target (`--customer MODEL`: plays the customer of tau2)
    --from FOLDER        clone that holds the files of the benchmark
    --start FOLDER       skill that training starts from; `curated` for the longer one of formula and finer
    --tasks N            most tasks of each split, the same ones for everybody
    --max-usd, --max-rollouts, --workers, --seed, --base-url, --store, --out, --json
    """  # noqa: D301 - `\b` is a sign to the printer of the help
    if find_spec("benchmarks") is None or find_spec("benchmarks.published") is None:
        raise UsageError(
            "expected the published benchmarks, found the package alone; clone the repository of skillopt-mcp, run "
            "`make check` there once, then `.venv/bin/skillopt benchmark --list` (`skillopt docs published`)"
        )
    given = ([name] if name else []) + context.args
    raise typer.Exit(import_module("benchmarks.published.__main__").main(given))
