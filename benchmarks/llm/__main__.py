"""The table of real models on suites of house conventions: print what is recorded, or measure rows anew.

    python -m benchmarks.llm                                                       # the table
    python -m benchmarks.llm --measure qwen-1.5b --house log-lines --seed 0 --by WHO --record
    python -m benchmarks.llm --measure qwen2.5-coder:1.5b --house log-lines --base-url http://127.0.0.1:11434/v1

A model is fetched by `python -m tools.fetch_llm qwen-1.5b` and served here, or is the one of a server that is named.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.llm.houses import HOUSES
from benchmarks.llm.measuring import CONTEXTS, TIMES_ONE_SHOT, Measuring
from benchmarks.llm.rows import Row, draw_rows, read_rows, record_row, write_summary, write_table
from benchmarks.llm.server import serve
from skillopt import SkilloptError
from skillopt.errors import AnswersPendingError
from skillopt.settings import Preset
from tools.fetch_llm import MissingLlmError, find_llm

_PORT = 8137
"""The address is part of the name that rollouts are recorded under, so a free port would run them anew."""

_CONTESTANTS = ("fixed", "trained", "paper", "gepa", "itself")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the recorded rows, or measure contestants; 3 while answers are pending."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm", description=main.__doc__)
    parser.add_argument("--measure", metavar="MODEL", help="the model to measure; its name on the server of --base-url")
    parser.add_argument("--base-url", default="", help="a server of that model; started here when none is named")
    parser.add_argument("--house", choices=sorted(HOUSES), action="append", help="suites; all when none is named")
    parser.add_argument("--contestant", choices=_CONTESTANTS, action="append", help="fixed and trained when none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=TIMES_ONE_SHOT, help="cap of a training, in rollouts of one shot")
    parser.add_argument("--by", default="", help="who answers for the optimizer model")
    parser.add_argument("--store", type=Path, default=Path(tempfile.gettempdir()) / "skillopt-llm")
    parser.add_argument("--record", action="store_true", help="keep the rows, in place of those of the same before")
    parser.add_argument("--picture", type=Path, help="draw the rows of MODEL in a file, as SVG")
    chosen = parser.parse_args(arguments)
    if chosen.picture:
        chosen.picture.write_text(draw_rows(read_rows(), chosen.measure or "qwen-1.5b"), encoding="utf-8")
        return 0
    if not chosen.measure:
        print(f"{write_summary(read_rows())}\n\n{write_table(read_rows())}")
        return 0
    pending = ""
    try:
        with _served(chosen.measure, chosen.base_url) as base_url:
            for name in chosen.house or sorted(HOUSES):
                measuring = Measuring(HOUSES[name], chosen.measure, base_url, chosen.store, chosen.by)
                try:
                    for row in _rows(measuring, chosen.contestant or ["fixed", "trained"], chosen.seed, chosen.times):
                        if chosen.record:
                            record_row(row)
                        print(write_table([row]).splitlines()[-1], flush=True)
                except AnswersPendingError as error:
                    pending = str(error)
    except (MissingLlmError, SkilloptError) as error:
        print(error, file=sys.stderr)
        return 2
    if pending:
        print(pending, file=sys.stderr)
    return 3 if pending else 0


@contextmanager
def _served(model: str, base_url: str) -> Iterator[str]:
    if base_url:
        yield base_url
        return
    with serve(find_llm(model), _PORT, CONTEXTS) as served:
        yield served


def _rows(measuring: Measuring, contestants: Sequence[str], seed: int, times: int) -> Iterator[Row]:
    if "fixed" in contestants:
        yield from measuring.fixed()
    if "trained" in contestants:
        yield from measuring.trained(seed, times=times)
    if "paper" in contestants:
        yield from measuring.trained(seed, Preset.PAPER, times)
    if "gepa" in contestants:
        yield measuring.trained_by_gepa(seed)
    if "itself" in contestants:
        yield measuring.trained_by_itself(seed)


if __name__ == "__main__":
    sys.exit(main())
