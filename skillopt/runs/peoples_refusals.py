"""Edits that people refused, as whoever proposes is told of them: a function of the commit that is started from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from skillopt.loop.memory import PeoplesRefusal
from skillopt.safety.leaks import find_leaks, index_protected_text
from skillopt.tasks import Suite
from skillopt.versions.decisions import PersonsWord, read_decisions
from skillopt.versions.repository import Repository

__all__ = ["refusals_before", "without_leaks"]

_MOST: Final = 200
"""Refused edits that a proposer is told of, the newest."""


def refusals_before(repository: Repository, skill: str, base: str, suite: Suite) -> tuple[PeoplesRefusal, ...]:
    """List the edits that people had refused by a commit, oldest first; every front end that proposes reads them here.

    A reason that gives away something of the suite is left out: it would reach whoever proposes.
    """
    found = read_decisions(repository, skill, base).refused_edits[-_MOST:] if base else ()
    words = without_leaks([one.word for one in found], suite)
    return tuple(PeoplesRefusal(one.edit, word.reason, word.by) for one, word in zip(found, words, strict=True))


def without_leaks(words: Sequence[PersonsWord], suite: Suite) -> tuple[PersonsWord, ...]:
    """Leave out each reason that gives away something of a suite."""
    if not words:
        return ()
    protected = index_protected_text(suite)
    reasons = {word.reason for word in words}
    leaking = {reason for reason in reasons if find_leaks(protected, reason, "")}
    return tuple(replace(word, reason="") if word.reason in leaking else word for word in words)
