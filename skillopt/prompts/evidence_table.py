"""Summarise how train tasks went: a row for each group of failures with equal feedback, its tasks, one line of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.skills.document import estimate_tokens

TABLE_TOKENS: Final = 2_300
"""Tokens (estimated) that rows share where feedback can be cut to fit."""

_LONGEST: Final = 300
_SHORTEST: Final = 40
"""Characters of a line of feedback: the most where groups are few, and the least where they are many."""

_READ: Final = 4_000
"""Characters of feedback that are looked at: more than any line that is shown."""


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """A task as the table shows it."""

    task: str
    passed: int
    repeats: int
    group: int = 0
    feedback: str = ""


def feedback_line(feedback: str, characters: int = _LONGEST) -> str:
    r"""Return the first line of feedback, cut, and how many more there are.

    >>> feedback_line("row 1: expected 3\nrow 2: expected 4")
    'row 1: expected 3 (and 1 more line)'
    """
    first, _, rest = feedback.strip().partition("\n")
    line = " ".join(first[:_READ].split())
    cut = f"{line[: characters - 1]}…" if len(line) > characters or len(first) > _READ else line
    more = sum(1 for one in rest.splitlines() if one.strip())
    return f"{cut} (and {more} more line{'s' * (more > 1)})" if more else cut


def write_evidence_table(rows: Sequence[EvidenceRow], tokens: int = TABLE_TOKENS) -> str:
    """Write the rows of failures, the largest group first, then the tasks that always pass."""
    groups: dict[int, list[EvidenceRow]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    passing = groups.pop(0, [])
    heads = [f"{number} | {_names(groups[number])} | " for number in sorted(groups)]
    last = [f"always passed | {_names(passing)}"] if passing else []
    used = sum(estimate_tokens(line) + 1 for line in (*heads, *last))
    each = (tokens - used) * 4 // max(1, len(heads))
    width = max(_SHORTEST, min(_LONGEST, each - len(" (and 99 more lines)")))
    telling = _telling_first([groups[number][0].feedback for number in sorted(groups)])
    lines = [head + _fitting(feedback, width) for head, feedback in zip(heads, telling, strict=True)]
    title = ["group | tasks, passed of repeats | line of the newest feedback that no other group has"] if lines else []
    return "\n".join([*title, *lines, *last])


def _telling_first(feedbacks: Sequence[str]) -> Iterator[str]:
    """Put the first line that no other group has before the others, so that one line tells the groups apart."""
    counts = Counter(line for feedback in feedbacks for line in set(_lines_of(feedback)))
    for feedback in feedbacks:
        lines = _lines_of(feedback)
        first = next((line for line in lines if counts[line] == 1), None)
        yield "\n".join(sorted(lines, key=lambda line: line != first))


def _lines_of(feedback: str) -> list[str]:
    return [line for line in feedback.splitlines() if line.strip()]


def _fitting(feedback: str, characters: int) -> str:
    """Cut a line by its size in bytes, so that scripts of three bytes a character take no more tokens."""
    if not feedback.strip():
        return "(no feedback)"
    line = feedback_line(feedback, characters)
    wide = len(line.encode("utf-8", "replace"))
    return line if wide <= characters + 30 else feedback_line(feedback, max(10, characters * len(line) // wide))


def _names(rows: Sequence[EvidenceRow]) -> str:
    return ", ".join(f"{row.task} {row.passed}/{row.repeats}" for row in rows)
