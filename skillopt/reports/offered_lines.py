"""Whose line is it: each line of the difference between two texts, with the edit that brought it or took it away."""

import re
from collections.abc import Sequence
from typing import Final

from skillopt.reports.offer_view import OfferedEdit, OfferedLine
from skillopt.skills.edits import Edit, Op
from skillopt.skills.word_diff import match_lines

__all__ = ["find_near_duplicates", "label_lines", "share_lines"]

_LEAST_SHARED: Final = 0.6
_LEAST_WORDS: Final = 4
_WORD: Final = re.compile(r"\w+")


def share_lines(before: str, after: str, edits: Sequence[Edit]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Share the lines in which a version differs from the one before among its edits: those that went, and that came.

    A line is that edit's whose own text has it, or is in it, or has most words in common with it.
    """
    gone, come = _differing(before, after)
    shares: list[tuple[list[str], list[str]]] = [([], []) for _ in edits]
    for line in gone:
        shares[_nearest(line, [edit.anchor for edit in edits], [edit.op for edit in edits])][0].append(line)
    for line in come:
        shares[_nearest(line, [edit.content for edit in edits], [])][1].append(line)
    return [(tuple(went), tuple(came)) for went, came in shares]


def label_lines(before: str, after: str, edits: Sequence[OfferedEdit]) -> tuple[OfferedLine, ...]:
    """List the lines that differ, in the order of a diff, each with the newest edit that explains it.

    What no edit explains is by people. Blank lines are left out: they separate what edits bring, and nobody reviews
    them.
    """
    gone = {line.strip(): edit.number for edit in edits for line in edit.gone}
    come = {line.strip(): edit.number for edit in edits for line in edit.come}
    went, came = _differing(before, after)
    return (
        *(OfferedLine("-", line, gone.get(line.strip(), 0)) for line in went),
        *(OfferedLine("+", line, come.get(line.strip(), 0)) for line in came),
    )


def find_near_duplicates(edits: Sequence[OfferedEdit]) -> dict[int, tuple[int, float]]:
    """Find edits that are worded like an earlier one: its number, and the share of the shorter one's words in both.

    Words are compared as sets, whatever their order, and at least 60% of those of the shorter one must be in both.
    """
    found: dict[int, tuple[int, float]] = {}
    for at, edit in enumerate(edits):
        for earlier in edits[:at]:
            share = _shared(edit.after, earlier.after)
            if share >= _LEAST_SHARED and earlier.number not in found:
                found[edit.number] = (earlier.number, share)
                break
    return found


def _differing(before: str, after: str) -> tuple[list[str], list[str]]:
    """List the lines that went and those that came, blank ones left out."""
    old, new = before.splitlines(), after.splitlines()
    gone: list[str] = []
    come: list[str] = []
    for tag, low, high, start, end in match_lines(old, new).get_opcodes():
        if tag != "equal":
            gone += [line for line in old[low:high] if line.strip()]
            come += [line for line in new[start:end] if line.strip()]
    return gone, come


def _nearest(line: str, texts: Sequence[str], ops: Sequence[Op]) -> int:
    """Return the place of the text that a line belongs to; a rewrite names no text that goes, so it takes the rest."""
    plain, words = line.strip(), set(_WORD.findall(line.casefold()))

    def nearness(at: int) -> tuple[bool, bool, bool, float]:
        lines = {own.strip() for own in texts[at].splitlines()}
        inside = bool(texts[at].strip()) and (texts[at].strip() in plain or plain in texts[at])
        rewritten = bool(ops) and ops[at] is Op.REWRITE
        own = set(_WORD.findall(texts[at].casefold()))
        return plain in lines, inside, rewritten, len(words & own) / max(1, len(words | own))

    return max(range(len(texts)), key=nearness)


def _shared(one: str, other: str) -> float:
    sets = [set(_WORD.findall(text.casefold())) for text in (one, other)]
    fewest = min(map(len, sets))
    return len(sets[0] & sets[1]) / fewest if fewest >= _LEAST_WORDS else 0.0
