"""Numbers with their nouns, and amounts of money, in texts for people."""

from math import floor, log10


def count_noun(number: int, noun: str, several: str = "") -> str:
    """Write a number with its noun.

    >>> count_noun(1, "task"), count_noun(1200, "task"), count_noun(2, "query", "queries")
    ('1 task', '1,200 tasks', '2 queries')
    """
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def write_dollars(usd: float) -> str:
    """Write an amount of US dollars, in cents from a dollar on, below with two digits that say something at least.

    >>> write_dollars(1234.5), write_dollars(0.25), write_dollars(0.015), write_dollars(0)
    ('$1,234.50', '$0.25', '$0.015', '$0.00')
    """
    digits = 2 if usd <= 0 else max(2, 1 - floor(log10(usd)))
    return f"${usd:,.{digits}f}"
