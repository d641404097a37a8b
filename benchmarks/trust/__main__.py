"""Print what becomes of attacks, class by class; ends with 1 where one had its effect or an honest control failed.

python -m benchmarks.trust [--quick] [--processes N] [CLASS...]
python -m benchmarks.trust --write    all of it, into benchmarks/trust/README.md, too
python -m benchmarks.trust --held-out FOLDER    cheats.toml and texts.toml of somebody else in a column of their own
"""

import argparse
import os
import platform
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.trust.classes import CLASSES, HELD_OUT, Tried, load_class, trust_table, try_classes
from skillopt import __version__


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
        _write_attacks(tried, time.monotonic() - begun)
    failures = [failure for one in tried for failure in one.failures]
    sys.stderr.write("".join(f"{failure}\n" for failure in failures))
    return 1 if failures else 0


def _write_attacks(tried: Sequence[Tried], seconds: float) -> None:
    """Put what became of all attacks between its marks in the page."""
    path = Path(__file__).with_name("README.md")
    marks = re.compile(r"(?<=<!-- attacks -->\n).*?(?=<!-- end of attacks -->)", re.DOTALL)
    shown, found = marks.subn(lambda _: f"\n{_attacks_part(tried, seconds)}\n\n", path.read_text(encoding="utf-8"))
    if found != 1:
        sys.exit(f"{path}: expected the marks of attacks once, found them {found} times; put them back")
    path.write_text(shown, encoding="utf-8")


def _attacks_part(tried: Sequence[Tried], seconds: float) -> str:
    rows = {one.name: one.rows for one in tried}
    words = {name: (load_class(name).__doc__ or "").partition("\n")[0] for name in CLASSES}
    told = [f"| `{name}` | {', '.join(row.name for row in rows[name])} | {words[name]} |" for name in CLASSES]
    here = f"skillopt-mcp {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return "\n\n".join(
        (
            f"{here}, {os.cpu_count()} cores, {seconds / 60:.0f} minutes.",
            trust_table([row for name in CLASSES for row in rows[name]]),
            "What is done, by the name that `TRUST_ARGS` takes:",
            "\n".join(("| name | rows | what is done |", "| --- | --- | --- |", *told)),
        )
    )


if __name__ == "__main__":
    sys.exit(main())
