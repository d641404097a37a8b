"""Print what becomes of attacks, class by class; ends with 1 where one had its effect or an honest control failed.

python -m benchmarks.trust [--quick] [CLASS...]
"""

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from benchmarks.trust.table import Attack, ClassResult, trust_table

__all__ = ["CLASSES", "main"]

CLASSES: Final = {
    "cheats": "benchmarks.trust.cheats:try_cheats",
    "unnoticed": "benchmarks.trust.inspected:try_inspection",
    "text": "benchmarks.trust.hostile_text:try_hostile_text",
    "kills": "benchmarks.trust.kills:try_kills",
    "disk": "benchmarks.trust.disk:try_disk",
    "together": "benchmarks.trust.together:try_together",
    "limits": "benchmarks.trust.limits:try_limits",
    "messages": "benchmarks.trust.messages:try_messages",
    "terminal": "benchmarks.trust.terminal:try_terminal",
    "repositories": "benchmarks.trust.repositories:try_repositories",
}
"""Name → import path of what tries the class."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the classes, print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a slice of each class, within a minute")
    parser.add_argument("classes", nargs="*", metavar="CLASS", help=f"{', '.join(CLASSES)}; all when left out")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.classes if name not in CLASSES]
    if unknown:
        parser.error(f"expected classes of {', '.join(CLASSES)}, found {', '.join(unknown)}")
    rows, failures = list[ClassResult](), list[str]()
    for name in given.classes or CLASSES:
        begun = time.monotonic()
        found, failed = _load(name)(quick=given.quick)
        rows += found
        failures += failed
        sys.stderr.write(f"{name}: {time.monotonic() - begun:.0f} s\n")
    sys.stdout.write(trust_table(rows) + "\n")
    sys.stderr.write("".join(f"{failure}\n" for failure in failures))
    return 1 if failures else 0


def _load(name: str) -> Attack:
    module, _, function = CLASSES[name].partition(":")
    attack: Attack = getattr(import_module(module), function)
    return attack


if __name__ == "__main__":
    sys.exit(main())
