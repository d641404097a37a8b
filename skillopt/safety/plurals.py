"""Numbers with their nouns, in texts for people."""

__all__ = ["count_noun", "count_were"]


def count_noun(number: int, noun: str, several: str = "") -> str:
    """Write a number with its noun.

    >>> count_noun(1, "task"), count_noun(1200, "task"), count_noun(2, "query", "queries")
    ('1 task', '1,200 tasks', '2 queries')
    """
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def count_were(number: int, noun: str) -> str:
    """Write a number with its noun in the past, as in `1 version was` and `2 versions were`."""
    return f"{count_noun(number, noun)} {'was' if number == 1 else 'were'}"
