"""Print what becomes of attacks, class by class; ends with 1 where one had its effect or an honest control failed.

python -m benchmarks.trust [--quick] [--processes N] [CLASS...]
python -m benchmarks.trust --write    all of it, into benchmarks/trust/README.md, too
python -m benchmarks.trust --held-out FOLDER    cheats.toml and texts.toml of somebody else in a column of their own
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.trust.classes import CLASSES, try_classes
from benchmarks.trust.page import write_attacks
from benchmarks.trust.table import HELD_OUT, trust_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the classes, print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a slice of each class, within three minutes")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1), help="classes at a time")
    parser.add_argument("--held-out", metavar="FOLDER", help="cases by somebody who did not see the code")
    parser.add_argument("--write", action="store_true", help="write the README beside this; needs all classes, whole")
    parser.add_argument("classes", nargs="*", metavar="CLASS", help=f"{', '.join(CLASSES)}; all when left out")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.classes if name not in CLASSES]
    if unknown:
        parser.error(f"expected classes of {', '.join(CLASSES)}, found {', '.join(unknown)}")
    if given.write and (given.quick or given.classes):
        parser.error("expected all classes, whole, for the README, found a part of them")
    if given.held_out:
        if not any(Path(given.held_out, name).is_file() for name in ("cheats.toml", "texts.toml")):
            parser.error(f"expected cheats.toml or texts.toml in {given.held_out}, found neither")
        os.environ[HELD_OUT] = given.held_out
    begun = time.monotonic()
    names = list(dict.fromkeys(given.classes)) or list(CLASSES)
    tried = sorted(
        try_classes(names, given.processes, quick=given.quick), key=lambda one: list(CLASSES).index(one.name)
    )
    sys.stdout.write(trust_table([row for one in tried for row in one.rows]) + "\n")
    if given.write:
        write_attacks(tried, time.monotonic() - begun)
    failures = [failure for one in tried for failure in one.failures]
    sys.stderr.write("".join(f"{failure}\n" for failure in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
