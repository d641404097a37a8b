"""What the change gate costs and how often it errs where the old text has a record, in simulation.

    python -m benchmarks.change_gate [--runs RUNS] [--seed SEED]

`tools/simulated_changes.py` says what is simulated. 2,000 changes a row take half a minute. Constants were chosen on
seeds below 1,000.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence

from tools.simulated_changes import GATES, World, merged_change, rates, two_wrong

WORLDS = (
    *(World(f"{size} tasks; breaks {breaks:.0%}", size, breaks) for size in (8, 24, 48) for breaks in (0.0, 0.2, 0.5)),
    World("24; every passing task 20 points less", 24, everywhere=0.2),
    World("24; target 10 points worse; breaks 0%", 24, drift=-0.1),
    World("24; target 10 points better; breaks 20%", 24, 0.2, drift=0.1),
    World("24; record of 2; breaks 0%", 24, record=2),
    World("24; record of 2; breaks 20%", 24, 0.2, record=2),
    World("24; flips .02; breaks 20%", 24, 0.2, flips=0.02),
    World("24; flips .2; breaks 0%", 24, flips=0.2),
    World("24; flips .2; breaks 50%", 24, 0.5, flips=0.2),
    World("24 in families of four, not seen as such; breaks 0%", 24, family=4),
    World("24 in families of four; breaks 0%", 24, family=4, named=True),
)


def rows(runs: int, seed: int) -> Iterator[str]:
    """Write the rows of the table."""
    yield "| tasks; what the change does | passed | refused | rollouts |\n|---|---|---|---|"
    for world in WORLDS:
        yield _row(world.name, *rates(world, runs, seed))
    for breaks in (0.0, 0.2):
        passed, refused, asked, made = merged_change(runs, seed, breaks)
        yield _row(f"24; record that a push made in {made:.0f} rollouts; breaks {breaks:.0%}", passed, refused, asked)
    yield f"\ntwo wrong refusals in {GATES} harmless changes: {two_wrong(max(1, runs // 4), seed):.4f} of repositories"


def _row(name: str, passed: float, refused: float, asked: float) -> str:
    return f"| {name} | {passed:.3f} | {refused:.4f} | {asked:.1f} |"


def main(arguments: Sequence[str] | None = None, show: Callable[[str], None] = print) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="a row")
    parser.add_argument("--seed", type=int, default=5000)
    asked = parser.parse_args(arguments)
    for row in rows(asked.runs, asked.seed):
        show(row)


if __name__ == "__main__":
    main()
