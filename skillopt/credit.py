"""Which edit helped or hurt, as far as the gate's rollouts tell.

Owns the value. Does not own the gate (gating).
"""

from dataclasses import dataclass

__all__ = ["Credit"]


@dataclass(frozen=True, slots=True)
class Credit:
    """What an edit is worth on a task.

    Args:
        edit: Its id.
        gain: Estimated effect on a task's score, in [-1, 1].
        error: Standard error of that.
        rollouts: Rollouts that the estimate rests on.
    """

    edit: str
    gain: float
    error: float
    rollouts: int
