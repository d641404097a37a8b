"""Print what learning reaches of its goals, cell by cell, with settings as shipped.

    python -m benchmarks.goals --seeds 40 --first 600
    python -m benchmarks.goals --only few rules --seeds 20
    python -m benchmarks.goals --anytime --seeds 40 --first 5000

Owns the command line. Does not own the rows (targets), the runs (samples) or the tables (table).
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.goals.anytime import CAPS, WHO, anytime_cells, format_anytime
from benchmarks.goals.curves import draw_curves
from benchmarks.goals.samples import OURS, Samples, make_samples
from benchmarks.goals.table import format_calibration, format_cells, format_goals
from benchmarks.goals.targets import GROUPS, TARGETS, YEARS
from benchmarks.peers.contestants import GEPA, is_ready, make_ready
from skillopt import __version__
from skillopt.errors import SettingsError
from skillopt.settings import make_settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cells that are asked for, and print the tables."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    changes = tuple((key, value) for key, _, value in (text.partition("=") for text in chosen.set))
    try:
        make_settings(("flags", dict(changes)))
    except SettingsError as error:
        parser.error(str(error))
    targets = [target for target in TARGETS if target.group in chosen.only]
    years = [cell for cell in YEARS if "nights" in chosen.only]
    if chosen.gepa:
        make_ready()
    absent = () if chosen.rivals and is_ready() else GEPA
    wanted = [
        (cell, who)
        for target in targets
        for cell, who in target.wanted
        if who == OURS or (chosen.rivals and who not in absent)
    ]
    wanted += [(cell, OURS) for cell in years]
    caps = anytime_cells(chosen.anytime or CAPS) if chosen.anytime is not None else []
    if caps:
        others = () if not chosen.rivals else tuple(who for who in WHO[1:] if who not in absent)
        targets, years, wanted = [], [], [(cell, who) for cell in caps for who in (OURS, *others)]
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    print(f"skillopt-mcp {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    print(f"seeds {seeds[0]} to {seeds[-1]}; simulated target and optimizer model, the real loop with its settings")
    print(f"as shipped{', with ' if changes else ''}{' '.join(chosen.set)}; no held-out test", flush=True)
    began = time.monotonic()
    found = make_samples(wanted, seeds, changes, chosen.workers, _tell)
    print(f"{time.monotonic() - began:.0f} s, {chosen.workers} processes\n")
    print(format_anytime(caps, found) if caps else f"{format_goals(targets, years, found)}\n\n{format_cells(found)}")
    if caps and chosen.picture:
        chosen.picture.write_text(draw_curves(caps, found), encoding="utf-8")
    if calibration := format_calibration(found):
        print(f"\n{calibration}")
    for (cell, who), reasons in found.broken.items():
        print(f"\n{cell.world}, {who}: {len(reasons)} did not finish; the first: {reasons[0]}")
    if chosen.json:
        _write(chosen.json, found)
    return 0


def _tell(done: int, pieces: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} of {pieces} pieces of work done ", end="", file=sys.stderr, flush=True)


def _write(file: Path, found: Samples) -> None:
    ours = [(cell, who, asdict(run)) for (cell, who), runs in found.runs.items() for run in runs]
    theirs = [(cell, who, asdict(run)) for (cell, who), runs in found.rivals.items() for run in runs]
    with file.open("w", encoding="utf-8") as lines:
        for cell, who, run in (*ours, *theirs):
            lines.write(json.dumps({"world": cell.world, "rollouts": cell.rollouts, "who": who, "run": run}) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description=main.__doc__)
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=GROUPS, help="rows; default: all")
    parser.add_argument(
        "--anytime",
        nargs="*",
        choices=CAPS,
        metavar="WORLD",
        help="the text in hand at each cap, in place of the goals",
    )
    parser.add_argument("--seeds", type=_positive, default=40, help="runs of each cell")
    parser.add_argument("--first", type=int, default=600, help="first seed; settings are chosen on 9000 to 9019 alone")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--no-rivals", dest="rivals", action="store_false", help="leave the others out")
    parser.add_argument("--gepa", action="store_true", help="set GEPA up where it is not; without, it runs where it is")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one JSON line per run")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="with --anytime: draw the scores by cap, as SVG")
    parser.add_argument("--workers", type=_positive, default=os.cpu_count() or 1, help="processes")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, found {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
