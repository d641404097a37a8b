"""Numbers with their nouns, in texts for people."""


def count_noun(number: int, noun: str, several: str = "") -> str:
    """Write a number with its noun.

    >>> count_noun(1, "task"), count_noun(1200, "task"), count_noun(2, "query", "queries")
    ('1 task', '1,200 tasks', '2 queries')
    """
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"
