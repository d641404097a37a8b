"""Budget accounting: caps, spending, and reservations for calls under way.

Spent and reserved together never pass a cap, in whatever order calls end. Waiting for calls to end is done in
execution.metering.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from skillopt.rollouts import Usage

__all__ = ["NO_CAPS", "BudgetAccount", "Caps"]


@dataclass(frozen=True, slots=True)
class Caps:
    """What a run may consume at most; 0 is no cap."""

    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    rollouts: int = 0

    def unbounded(self, worst: Usage) -> str:
        """Name the cap that cannot be kept because nobody knows what a call can cost; empty for none."""
        return "max_usd" if self.usd and worst.usd is None else ""


NO_CAPS: Final = Caps()
"""Nothing is limited."""


class BudgetAccount:
    """Usage that was spent, and usage that is reserved for calls under way."""

    def __init__(self, caps: Caps) -> None:
        self.caps = caps
        self.spent = Usage()
        self._reserved: list[Usage] = []

    @property
    def idle(self) -> bool:
        """Whether no call is under way."""
        return not self._reserved

    def fits(self, worst: Usage) -> bool:
        """Return whether a call that could consume so much can be begun now."""
        return not self._passed(replace(worst, usd=worst.usd or 0.0))

    def reserve(self, worst: Usage) -> Callable[[Usage | None], None]:
        """Set aside what a call could consume at most."""
        if not self.fits(worst):
            raise ValueError(f"expected a call that fits, found one that could consume {worst}")
        held = replace(worst, usd=worst.usd or 0.0)
        self._reserved.append(held)

        def settle(used: Usage | None) -> None:
            self._reserved.remove(held)
            self.spend(held if used is None else replace(used, usd=held.usd if used.usd is None else used.usd))

        return settle

    def spend(self, used: Usage) -> None:
        """Count what was consumed; an unknown price counts as nothing here."""
        self.spent += replace(used, usd=used.usd or 0.0)

    def _passed(self, more: Usage) -> bool:
        total = Usage.total([self.spent, *self._reserved, more])
        caps = self.caps
        tokens = total.input_tokens + total.output_tokens
        return (0 < caps.usd < (total.usd or 0.0)) or (0 < caps.tokens < tokens)
