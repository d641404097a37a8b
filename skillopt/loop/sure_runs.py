"""Which runs will be made whatever comes of the ones before them: these may be begun before their turn."""

from collections.abc import Sequence

__all__ = ["sure_rounds", "sure_runs"]


def sure_runs(groups: Sequence[tuple[Sequence[str], int, int]], found: int) -> list[str]:
    """Return tasks of each group that are run in any case, where a group is left once enough failing ones are found."""
    sure: list[str] = []
    most_runs = 0
    for names, most, limit in groups:
        count = max(0, min(len(names), limit - most_runs, most - found))
        sure += names[:count]
        could = max(0, min(len(names), limit - most_runs)) if most > found else 0
        most_runs += max(count, could)
        found += max(count, could)
    return sure


def sure_rounds(evidence: Sequence[float], low: float, high: float, step: float) -> int:
    """Count the rounds after the next one that are made in any case: no evidence can have left its bounds by then."""
    spare = min((min(high - one, one - low) for one in evidence), default=0.0)
    return max(0, int(spare / step - 1e-9))
