"""Measure how often a reworded rule is known for the one that people refused, and a different one is taken for it.

`python -m tools.measure_refusals` measures the pairs in `tools/refusals`, of which each is an object with `refused` and
`proposed`, edits that have `content`, and `same`, whether they say the same; and the demo's rules: wordings of one rule
against each other, and rules of the same section.
"""

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from skillopt.loop.memory import is_reworded

PAIRS = Path(__file__).parent / "refusals"
_ADVICE = PAIRS.parents[1] / "benchmarks" / "demo" / "advice.toml"
_FEW = 2


def main() -> None:
    """Print for each file how many pairs of both kinds are held back."""
    measured = {path.name: read_pairs(path) for path in sorted(PAIRS.glob("*.jsonl"))} | {_ADVICE.name: demo_pairs()}
    for name, pairs in measured.items():
        caught, held = (f"{found} of {of} ({found / max(1, of):.0%})" for found, of in rates(pairs))
        print(f"{name}: reworded refusals caught {caught}; different rules held back {held}")


def rates(pairs: Sequence[tuple[bool, str, str]]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Count the reworded ones that are caught, and the different ones that are held back, each of how many."""
    found = defaultdict[bool, list[bool]](list)
    for same, one, other in pairs:
        found[same].append(is_reworded(one, other))
    return (sum(found[True]), len(found[True])), (sum(found[False]), len(found[False]))


def read_pairs(path: Path) -> list[tuple[bool, str, str]]:
    """Read a file of pairs."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return [(bool(row["same"]), row["refused"]["content"], row["proposed"]["content"]) for row in rows]


def demo_pairs() -> list[tuple[bool, str, str]]:
    """Pair the rules of the demo's optimizer, which were worded before there was anything to tell them apart."""
    return list(_demo_pairs())


def _demo_pairs() -> Iterator[tuple[bool, str, str]]:
    advice = tomllib.loads(_ADVICE.read_text(encoding="utf-8"))["advice"].values()
    values = defaultdict(lambda: "x", first="day", second="month")
    good = [(one["section"], [rule.format_map(values) for rule in one["good"]]) for one in advice]
    for _, rules in good:
        yield from ((True, one, other) for one, other in combinations(rules, 2))
    for (section, rules), (other_section, others) in combinations(good, 2):
        if section == other_section:
            yield from ((False, one, other) for one in rules[:_FEW] for other in others[:_FEW])


if __name__ == "__main__":
    main()
