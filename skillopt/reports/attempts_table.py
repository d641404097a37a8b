"""The attempts of a search as a Markdown table: the front first, then the rest by score.

Owns columns and order. Does not own which attempts are on the front (attempts).
"""

from collections.abc import Sequence

from skillopt.attempts import Attempt, front

__all__ = ["format_attempts"]


def format_attempts(attempts: Sequence[Attempt], recommended: int, *, most: int = 0) -> str:
    """Write a row for each attempt; settings are shown where they differ from the first attempt's.

    Args:
        attempts: At least one, the first being where the search started.
        recommended: The number of the attempt that is marked.
        most: Rows below the front; 0 for all.
    """
    shown = front(attempts)
    numbers = {one.number for one in shown}
    rest = sorted((one for one in attempts if one.number not in numbers), key=lambda one: (one.given_up, -one.score))
    left = len(rest) - most if most else 0
    rows = [
        *(_row(one, attempts[0], "front", recommended) for one in reversed(shown)),
        *(_row(one, attempts[0], "", recommended) for one in (rest[:most] if most else rest)),
    ]
    head = ("attempt", "score", "rollouts", "cases", "", "settings that differ from the first")
    lines = [head, ("---:", "---:", "---:", "---:", "---", "---"), *rows]
    more = [f"\n{left} more attempts are left out."] if left > 0 else []
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), *more])


def _row(attempt: Attempt, first: Attempt, place: str, recommended: int) -> tuple[str, ...]:
    told = "recommended" if attempt.number == recommended else "given up" if attempt.given_up else ""
    changed = [f"{name}={value}" for name, value in attempt.values.items() if value != first.values[name]]
    return (
        str(attempt.number + 1),
        f"{attempt.score:.3f}",
        f"{attempt.rollouts:.0f}",
        str(len(attempt.results)),
        ", ".join(filter(None, (place, told))),
        " ".join(changed) or "none",
    )
