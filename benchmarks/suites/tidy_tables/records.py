"""Clean tables in house format: what a correct `output.csv` looks like.

Owns the kinds of tables and the values in them. Does not own what vendors do to them (defects).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Final

__all__ = ["KINDS", "CleanTable", "TableKind", "clean_table"]

_Rows = list[list[str]]

_ITEMS: Final = (
    "Steel bolt M8", "Copper pipe 15 mm", "Safety gloves", "Packing tape", "LED panel", "Desk lamp", "Paper A4",
    "Cable tie", "Hinge, brass", "Wood screw 4x40", "Filter cartridge", "Label roll", "Toner black", "Paint white",
    "Drill bit set", "Work light", "Storage box", "Hand pallet truck", "Door closer", "Sealing ring",
)  # fmt: skip
_PEOPLE: Final = (
    "Anna Berg", "Jonas Keller", "Marie Dubois", "Luca Rossi", "Sofia Marin", "Piotr Nowak", "Emma van Dijk",
    "Noah Schmidt", "Clara Weiss", "David Moreau", "Elena Costa", "Felix Braun", "Greta Lind", "Hugo Petit",
    "Ida Winter", "Jan de Vries", "Karin Vogel", "Leon Fischer", "Mia Huber", "Nils Holm",
)  # fmt: skip
_DESCRIPTIONS: Final = (
    "Train to Hamburg", "Hotel, two nights", "Team lunch", "Taxi from airport", "Printer repair", "Software licence",
    "Conference ticket", "Parking", "Books", "Courier", "Refund of deposit", "Office chairs", "Coffee beans",
)  # fmt: skip
_COUNTRIES: Final = ("DE", "FR", "GB", "US", "NL", "AT", "CH", "IT", "ES", "PL")
_CURRENCIES: Final = ("EUR", "USD", "GBP")
_CARRIERS: Final = ("DHL", "UPS", "GLS", "DPD", "FedEx")
_FRACTIONS: Final = ("0.05", "0.07", "0.1", "0.12", "0.15", "0.19", "0.2", "0.25", "0.075")


@dataclass(frozen=True, slots=True)
class TableKind:
    """A kind of table and the role of its columns.

    Args:
        name: Tag of its tasks.
        about: How a prompt calls such a table.
        header: Columns in house format.
        key: The id column.
        dated: The date column.
        amount: The money column, if any.
        optional: The column that may be empty.
        group: The column whose label repeats, if any.
        flag: The true/false column.
    """

    name: str
    about: str
    header: tuple[str, ...]
    key: str
    dated: str
    amount: str
    optional: str
    group: str
    flag: str


@dataclass(frozen=True, slots=True)
class CleanTable:
    """A table in house format."""

    kind: TableKind
    rows: _Rows


KINDS: Final[Mapping[str, TableKind]] = {
    kind.name: kind
    for kind in (
        TableKind(
            "orders", "order list",
            ("order_id", "order_date", "item", "quantity", "unit_price", "currency", "discount", "paid"),
            "order_id", "order_date", "unit_price", "discount", "", "paid",
        ),
        TableKind(
            "contacts", "contact list",
            ("contact_id", "name", "email", "phone", "country", "newsletter", "updated_on"),
            "contact_id", "updated_on", "", "phone", "", "newsletter",
        ),
        TableKind(
            "inventory", "stock count",
            ("warehouse", "sku", "item", "quantity", "reorder_at", "unit_cost", "counted_on", "active"),
            "sku", "counted_on", "unit_cost", "reorder_at", "warehouse", "active",
        ),
        TableKind(
            "expenses", "expense report",
            ("department", "expense_id", "spent_on", "description", "amount", "currency", "tax_rate", "approved"),
            "expense_id", "spent_on", "amount", "tax_rate", "department", "approved",
        ),
        TableKind(
            "shipments", "shipment log",
            ("shipment_id", "shipped_on", "carrier", "country", "weight_kg", "length_cm", "cost", "delivered"),
            "shipment_id", "shipped_on", "cost", "length_cm", "", "delivered",
        ),
    )
}  # fmt: skip
_PREFIXES: Final = {"orders": "ORD", "contacts": "CON", "inventory": "SKU", "expenses": "EXP", "shipments": "SHP"}
_GROUPS: Final = {
    "inventory": ("Berlin North", "Hamburg Port", "Munich South", "Cologne"),
    "expenses": ("Sales", "Engineering", "Facilities", "Human Resources"),
}


def clean_table(kind: TableKind, draw: Random) -> CleanTable:
    """Draw a table in house format: sorted by id, one row per id, at least two optional cells empty."""
    count = draw.randint(8, 12)
    numbers = sorted(draw.sample(range(3, 900), count))
    labels = _group_labels(kind, count, draw)
    empty = set(draw.sample(range(count), 2)) | {at for at in range(count) if draw.random() < 0.06}  # noqa: PLR2004 - a few more
    rows = []
    for at, number in enumerate(numbers):
        row = []
        for column in kind.header:
            if column == kind.key:
                row.append(f"{_PREFIXES[kind.name]}-{number:04d}")
            elif column == kind.group:
                row.append(labels[at])
            elif column == kind.optional and at in empty:
                row.append("")
            else:
                row.append(_COLUMNS[column](draw))
        rows.append(row)
    return CleanTable(kind, rows)


def _group_labels(kind: TableKind, count: int, draw: Random) -> list[str]:
    """Draw two or three groups, each at least two rows long and all of it together."""
    if not kind.group:
        return []
    names = draw.sample(_GROUPS[kind.name], draw.randint(2, 3))
    ends = [count * (at + 1) // len(names) for at in range(len(names))]
    return [next(name for name, end in zip(names, ends, strict=True) if at < end) for at in range(count)]


def _day(draw: Random) -> str:
    day = date(2023, 1, 1) + timedelta(days=draw.randrange(800))
    return day.replace(day=draw.randint(1, 12)).isoformat() if draw.random() < 0.5 else day.isoformat()  # noqa: PLR2004 - half can be misread


def _money(draw: Random) -> str:
    cents = draw.choice((0, 0, 50, 20, 80, draw.randrange(100)))
    return f"{draw.choice((draw.randint(3, 999), draw.randint(1000, 9000)))}.{cents:02d}"


def _signed_money(draw: Random) -> str:
    return ("-" if draw.random() < 0.4 else "") + _money(draw)  # noqa: PLR2004 - refunds and credits


def _flag(draw: Random) -> str:
    return draw.choice(("true", "true", "false"))


def _phone(draw: Random) -> str:
    return f"+49{draw.choice((30, 40, 89, 151, 170))}{draw.randint(1000000, 9999999)}"


def _email(draw: Random) -> str:
    first, *rest = draw.choice(_PEOPLE).lower().split()
    return f"{first}.{''.join(rest)}@{draw.choice(('nordwind', 'kontor', 'atelier', 'verde'))}.example"


def _whole(draw: Random) -> str:
    return str(draw.randint(2, 480))


def _from(choices: tuple[str, ...]) -> Callable[[Random], str]:
    return lambda draw: draw.choice(choices)


_COLUMNS: Final[Mapping[str, Callable[[Random], str]]] = {
    "order_date": _day, "updated_on": _day, "counted_on": _day, "spent_on": _day, "shipped_on": _day,
    "item": _from(_ITEMS), "name": _from(_PEOPLE), "description": _from(_DESCRIPTIONS), "carrier": _from(_CARRIERS),
    "country": _from(_COUNTRIES), "currency": _from(_CURRENCIES), "discount": _from(_FRACTIONS),
    "tax_rate": _from(_FRACTIONS), "email": _email, "phone": _phone, "quantity": _whole, "reorder_at": _whole,
    "unit_price": _money, "unit_cost": _money, "cost": _money, "amount": _signed_money,
    "paid": _flag, "newsletter": _flag, "active": _flag, "approved": _flag, "delivered": _flag,
    "weight_kg": lambda draw: f"{draw.randint(2, 900) / 10 * 0.45359237:.2f}",
    "length_cm": lambda draw: f"{draw.randint(20, 900) / 10 * 2.54:.2f}",
}  # fmt: skip
