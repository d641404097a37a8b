"""What held-out requests show of a new description: recall, false triggers, what siblings lose, and whether to refuse.

It is counted as everywhere (quality): a request counts as loaded where it was in more than half of its runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.gate.pairs import Pairs
from skillopt.safety.plurals import count_noun
from skillopt.triggers.quality import TriggerRate, judge_loading
from skillopt.triggers.queries import Query

__all__ = ["HeldOutTriggers", "SiblingRecall", "count_held_out", "why_worse"]

_CLEARLY: Final = 2
"""Held-out requests that a sibling may not lose, net: one may be luck."""


@dataclass(frozen=True, slots=True)
class SiblingRecall:
    """Held-out requests that should load another skill and did, before and after."""

    skill: str
    before: TriggerRate
    after: TriggerRate


@dataclass(frozen=True, slots=True)
class HeldOutTriggers:
    """What the gate saw of both descriptions."""

    recall_before: TriggerRate
    recall_after: TriggerRate
    false_before: TriggerRate
    false_after: TriggerRate
    requests: int
    runs: int
    siblings: tuple[SiblingRecall, ...] = ()
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


def count_held_out(skill: str, queries: Iterable[Query], pairs: Pairs) -> HeldOutTriggers:
    """Count what was loaded for held-out requests with either description."""
    sides = [{one.task_id for one in side if one.score is not None} for side in (pairs.before, pairs.after)]
    both = sides[0] & sides[1]
    asked = [query for query in queries if query.key in both]
    before, after = (judge_loading(skill, asked, side) for side in (pairs.before, pairs.after))
    was, now = ({row.query for row in side.queries if row.right} for side in (before, after))
    return HeldOutTriggers(
        before.recall,
        after.recall,
        before.false_triggers,
        after.false_triggers,
        len(asked),
        sum(rollout.score is not None and rollout.task_id in both for rollout in pairs.rollouts),
        tuple(_siblings(skill, asked, pairs)),
        tuple(query.text for query in asked if query.text in now - was),
        tuple(query.text for query in asked if query.text in was - now),
    )


def _siblings(skill: str, asked: Sequence[Query], pairs: Pairs) -> Iterable[SiblingRecall]:
    for name in sorted({query.expected for query in asked} - {skill, ""}):
        own = [query for query in asked if query.expected == name]
        before, after = (judge_loading(name, own, side).recall for side in (pairs.before, pairs.after))
        yield SiblingRecall(name, before, after)


def why_worse(found: HeldOutTriggers) -> str:
    """Return why a description is refused that makes more requests go right; empty where nothing speaks against it.

    It may not load the skill for more held-out requests that should not load it, and may not take two requests or
    more from another skill.
    """
    if (more := found.false_after.hits) > found.false_before.hits:
        return (
            f"it loads the skill for {more} of {found.false_after.of} held-out requests that should not load it, "
            f"{found.false_before.hits} before"
        )
    lost = [one for one in found.siblings if one.before.hits - one.after.hits >= _CLEARLY]
    if not lost:
        return ""
    first = lost[0]
    requests = count_noun(first.before.of, "held-out request")
    return f"{first.skill!r} is loaded for {first.after.hits} of its {requests}, {first.before.hits} before"
