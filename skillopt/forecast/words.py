"""What a run is likely to take, in words: rollouts, optimizer calls, minutes, dollars."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # the forecast itself is slow to import
    from skillopt.forecast.foresight import Foresight, MostLikely

__all__ = ["foresight_line", "price_words", "range_words", "time_words"]

_HOUR: Final = 60


def foresight_line(likely: "Foresight") -> str:
    """Return what a run is likely to take, in one line."""
    parts = [f"about {range_words(likely.rollouts)} rollouts", f"{range_words(likely.calls)} optimizer calls"]
    return ", ".join(filter(None, [*parts, time_words(likely), price_words(likely)]))


def range_words(found: "MostLikely") -> str:
    """Say a median and its range."""
    return f"{found.median:.0f} ({found.low:.0f} to {found.high:.0f})"


def time_words(likely: "Foresight") -> str:
    """Return how long it is likely to take; empty where nobody knows."""
    found = likely.minutes
    if found is None:
        return ""
    median, low, high = map(_duration, (found.median, found.low, found.high))
    return median if low == high else f"{median} ({low} to {high})"


def _duration(minutes: float) -> str:
    if minutes < 1:
        return "under 1 min"
    return (
        f"{minutes:.0f} min" if round(minutes) < _HOUR else f"{round(minutes) // _HOUR} h {round(minutes) % _HOUR:02}"
    )


def price_words(likely: "Foresight") -> str:
    """Return what it is likely to cost in dollars; empty where nobody knows."""
    found = likely.usd
    return f"${found.median:,.2f} (${found.low:,.2f} to ${found.high:,.2f})" if found else ""
