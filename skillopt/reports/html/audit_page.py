"""An audit of a project's skills as one HTML page that needs nothing else."""

from collections.abc import Sequence
from typing import Final, Protocol

from skillopt.reports.html.page import fill_page

__all__ = ["AuditTable", "AuditTableRow", "render_audit_page"]

_ORDER: Final = ("hurts", "idle", "helps", "unknown")
"""What needs a decision comes first."""


class AuditTableRow(Protocol):
    """A skill as the page shows it."""

    @property
    def skill(self) -> str:
        """Its name."""

    @property
    def effect(self) -> str:
        """What it does for its tasks."""

    @property
    def removable(self) -> bool:
        """Whether its removal is proposed."""


class AuditTable(Protocol):
    """What the page shows."""

    @property
    def skills(self) -> Sequence[AuditTableRow]:
        """List the skills."""

    @property
    def error(self) -> float:
        """The share of the skills said to help or hurt that is wrong on average, at most."""

    @property
    def loss(self) -> float:
        """What the removal of an idle skill may lose at most."""

    @property
    def siblings(self) -> Sequence[object]:
        """List what was found of skills with others beside them."""

    @property
    def stopped(self) -> str:
        """Why it ended early."""


def render_audit_page(table: AuditTable) -> str:
    """Render what an audit found; what hurts and what lies idle comes first."""
    rows = sorted(table.skills, key=lambda row: (_ORDER.index(row.effect), row.skill))
    counts = [(name, sum(row.effect == name for row in rows)) for name in _ORDER]
    removable = [row.skill for row in rows if row.removable]
    return fill_page("audit.html", table=table, rows=rows, counts=counts, removable=removable)
