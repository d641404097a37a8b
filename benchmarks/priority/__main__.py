"""Ask optimizer models what helps and what harms, where the truth is planted.

    python -m benchmarks.priority --model demo anthropic/claude-sonnet-4-5 --cases 20 --json answers.jsonl

Owns the command line and the table. Does not own cases (cases), figures (asking) or references (references).
"""

import argparse
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from statistics import fmean

from benchmarks.landscapes.worlds import WORLDS
from benchmarks.priority.asking import Answered, answer
from benchmarks.priority.cases import Case, make_case
from benchmarks.priority.correlation import interval
from benchmarks.priority.references import REFERENCES
from skillopt import __version__
from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.drivers import load_retrying_model
from skillopt.presets import make_settings
from skillopt.protocols import Model
from skillopt.rollouts import Usage
from skillopt.settings import Settings

__all__ = ["main"]

_WORLDS = ("harmful", "strong", "weak", "rare")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was asked and a table; write one JSON line per model and case where asked for."""
    chosen = _parser().parse_args(arguments)
    names = [*REFERENCES, *(name for name in chosen.model if name not in REFERENCES)]
    told = shlex.join(sys.argv[1:] if arguments is None else arguments)
    print(f"python -m benchmarks.priority {told}".rstrip())
    print(f"skillopt-mcp {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    print(f"{os.cpu_count()} cores, one in use; simulated target, no rollouts but the evidence of each case")
    print(f"seeds {chosen.first} to {chosen.first + chosen.cases - 1}, {chosen.tasks} train tasks each", flush=True)
    began, answers = time.monotonic(), []
    try:
        with chosen.json.open("w", encoding="utf-8") if chosen.json else nullcontext() as lines:
            for answered in _ask_all(names, chosen):
                answers.append(answered)
                if lines:
                    lines.write(json.dumps(asdict(answered)) + "\n")
    except SkilloptError as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 3
    print(f"{time.monotonic() - began:.0f} s\n\n{_table(answers)}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.priority", description=main.__doc__)
    known = f"beside {', '.join(REFERENCES)}, which are always asked; named like the setting `model`"
    parser.add_argument("--model", nargs="+", default=["demo"], metavar="NAME", help=known)
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(_WORLDS), metavar="WORLD")
    parser.add_argument("--cases", type=_positive, default=40, help="questions in each world")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--tasks", type=_positive, default=36, help="train tasks run for the evidence")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one JSON line per model and case")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, found {number}")
    return number


def _ask_all(names: Sequence[str], chosen: argparse.Namespace) -> Iterator[Answered]:
    """Put every case to every model."""
    for world in chosen.worlds:
        cases = [make_case(world, chosen.first + number, chosen.tasks) for number in range(chosen.cases)]
        for name in names:
            for case in cases:
                settings = make_settings(("priority", {"seed": case.seed}))
                yield answer(case, name, _model(name, case, settings), settings)


def _model(name: str, case: Case, settings: Settings) -> Model:
    return (
        REFERENCES[name](case) if name in REFERENCES else load_retrying_model(name, settings, Path(".skillopt/handoff"))
    )


def _table(answers: Sequence[Answered]) -> str:
    """Write a row for each world and model, in the order in which they come."""
    cells: dict[tuple[str, str], list[Answered]] = {}
    for one in answers:
        cells.setdefault((one.world, one.model), []).append(one)
    head = ["world", "model", "ranking: Kendall", "95% interval", "Spearman", "reflection: Kendall", "95% interval"]
    head += ["edits", "helpful", "harmful", "unreadable", "calls", "tokens", "US dollars"]
    aligned = ["---", "---", *["---:"] * (len(head) - 2)]
    rows = [[world, model, *_row(cell)] for (world, model), cell in cells.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, aligned, *rows))


def _row(cell: Sequence[Answered]) -> list[str]:
    usage = Usage.total(one.usage for one in cell)
    return [
        *_mean_of([one.ranked for one in cell]),
        f"{fmean(one.ranked_spearman for one in cell):.2f}",
        *_mean_of([one.reflected for one in cell]),
        f"{fmean(one.proposed for one in cell):.1f}",
        f"{fmean(one.helpful for one in cell):.0%}",
        f"{fmean(one.harmful for one in cell):.0%}",
        str(sum(one.unreadable for one in cell)),
        str(usage.calls),
        str(usage.input_tokens + usage.output_tokens),
        "unknown" if usage.usd is None else f"{usage.usd:.2f}",
    ]


def _mean_of(values: Sequence[float]) -> tuple[str, str]:
    low, high = interval(values)
    return f"{fmean(values):.2f}", f"{low:.2f} to {high:.2f}"


if __name__ == "__main__":
    sys.exit(main())
