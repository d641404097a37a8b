"""The generated part of the README beside this: the tables of attacks."""

import os
import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.trust.classes import CLASSES, Tried, load_class
from benchmarks.trust.table import trust_table
from skillopt import __version__


def write_attacks(tried: Sequence[Tried], seconds: float) -> None:
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
