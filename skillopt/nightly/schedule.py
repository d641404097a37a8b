"""Training windows: the weekdays and hours in which a night may begin to train."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from skillopt.settings import Weekday

__all__ = ["why_no_training"]

_DAYS: Final[tuple[Weekday, ...]] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def why_no_training(days: Sequence[Weekday], hours: str, now: datetime) -> str:
    """Return why no training may begin now; empty when it may.

    >>> why_no_training(["sat", "sun"], "", datetime(2026, 11, 22, 14, 3))
    ''
    >>> why_no_training([], "22-6", datetime(2026, 11, 22, 14, 3))
    'it is 14:03, and training begins between 22:00 and 6:00'
    """
    first, last = map(int, hours.split("-")) if hours else (0, 24)
    passes_midnight = first >= last
    is_early = passes_midnight and now.hour < last
    inside = first <= now.hour or is_early if passes_midnight else first <= now.hour < last
    if not inside:
        return f"it is {now:%H:%M}, and training begins between {first}:00 and {last}:00"
    day = _DAYS[(now - timedelta(days=is_early)).weekday()]
    if days and day not in days:
        return f"it is {day}, and training begins on {', '.join(one for one in _DAYS if one in days)}"
    return ""
