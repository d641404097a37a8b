"""Print what becomes of attacks, class by class; ends with 1 where one had its effect or an honest control failed."""

import sys

from benchmarks.trust.cheats import try_cheats
from benchmarks.trust.hostile_text import try_hostile_text
from benchmarks.trust.table import trust_table


def main() -> int:
    """Try all classes, print the table."""
    cheats, failures = try_cheats()
    edits, let_through = try_hostile_text()
    rows = [cheats, *edits]
    failures += let_through
    sys.stdout.write(trust_table(rows) + "\n")
    sys.stderr.write("".join(f"{failure}\n" for failure in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
