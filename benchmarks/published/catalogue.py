"""The benchmarks by name."""

from collections.abc import Mapping
from typing import Final

from benchmarks.published.ace import FINER, FORMULA
from benchmarks.published.benchmark import Benchmark
from benchmarks.published.bfcl import BFCL
from skillopt.errors import UsageError

BENCHMARKS: Final[Mapping[str, Benchmark]] = {one.name: one for one in (FORMULA, FINER, BFCL)}


def benchmark_of(name: str) -> Benchmark:
    """Find a benchmark."""
    if name not in BENCHMARKS:
        raise UsageError(f"expected one of the benchmarks {', '.join(BENCHMARKS)}, found {name!r}")
    return BENCHMARKS[name]
