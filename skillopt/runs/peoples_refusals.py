"""Edits that people refused before a run, as it is told of them: a function of the commit that the run starts from."""

from typing import Final

from skillopt.loop.memory import PeoplesRefusal
from skillopt.safety.leaks import find_leaks, index_protected_text
from skillopt.tasks import Suite
from skillopt.versions.decisions import read_decisions
from skillopt.versions.repository import Repository

__all__ = ["refusals_before"]

_MOST: Final = 200
"""Refused edits that a run is told of, the newest."""


def refusals_before(repository: Repository, skill: str, base: str, suite: Suite) -> tuple[PeoplesRefusal, ...]:
    """List the edits that people had refused when a run began, oldest first.

    A reason that gives away something of the suite is left out: it would reach the optimizer model.

    Args:
        repository: Where the decisions are.
        skill: Name of the skill.
        base: The commit that the run starts from, empty for none.
        suite: Its tasks.
    """
    found = read_decisions(repository, skill, base).refused_edits[-_MOST:] if base else ()
    if not found:
        return ()
    protected = index_protected_text(suite)
    leaking = {one.word.reason for one in found if find_leaks(protected, one.word.reason, "")}
    return tuple(PeoplesRefusal(one.edit, "" if one.word.reason in leaking else one.word.reason) for one in found)
