"""Measure scale and write docs/scale.md.

make bench-scale                      all measurements, about a quarter of an hour
make bench-scale BENCH_ARGS=--quick   small ones, printed only
python -m benchmarks.scale threads    one of them; the others stay as they are in the results file
"""

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from benchmarks.peers.environments import interpreter, make_ready
from benchmarks.scale.page import (
    PAGE,
    RESULTS,
    TITLES,
    Part,
    format_page,
    machine_note,
    plot_file,
    read_parts,
    write_parts,
)

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run measurements, and write results, page and plots; with --quick print the page only."""
    given = _parser().parse_args(arguments)
    parts = {} if given.quick else read_parts()
    for name in () if given.page else given.names or _present():
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            parts[name] = _measured(name, quick=given.quick)
        except ModuleNotFoundError as error:  # of a part of its own, such as Ray
            print(f"{name} is left out: {error}", file=sys.stderr)
        if not given.quick:
            write_parts(parts)  # at once: one that fails later takes nothing with it
    page = format_page(parts)
    if not given.quick:
        PAGE.write_text(page, encoding="utf-8")
        _draw(parts, given.names or parts)
    print(page)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=main.__doc__)
    parser.add_argument("names", nargs="*", type=_name, metavar="NAME", help="default: all there are")
    parser.add_argument("--quick", action="store_true", help="small measurements, printed and not written")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page and its plots anew")
    return parser


def _name(text: str) -> str:
    if text not in _present():
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(_present())}, found {text!r}")
    return text


def _present() -> list[str]:
    return [name for name in TITLES if find_spec(f"benchmarks.scale.{name}")]


def _measured(name: str, *, quick: bool) -> Part:
    """Run one measurement."""
    module, note, began = import_module(f"benchmarks.scale.{name}"), machine_note(), time.monotonic()
    result = module.measure(quick)
    command = shlex.join(["python", "-m", "benchmarks.scale", name, *(["--quick"] if quick else [])])
    plots = tuple(map(asdict, module.plots(result))) if hasattr(module, "plots") else ()
    circumstances = f"{note}; `{command}`, {time.monotonic() - began:.0f} s"
    return Part(circumstances, asdict(result), module.markdown(result), plots)


def _draw(parts: Mapping[str, Part], names: Iterable[str]) -> None:
    """Draw the plots of some parts."""
    plots = [plot["name"] for name in names if name in parts for plot in parts[name].plots]
    if not plots:
        return
    make_ready("plots")
    for plot in plots:
        drawing = [interpreter("plots"), Path(__file__).with_name("plot.py"), RESULTS, plot, plot_file(plot)]
        subprocess.run(list(map(str, drawing)), check=True)


if __name__ == "__main__":
    sys.exit(main())
