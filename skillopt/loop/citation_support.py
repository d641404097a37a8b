"""Citation support: how far the rollouts that an edit cites speak for it, as a number in [0, 1].

It reads only what the optimizer model was shown, so it costs no call.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Final

from skillopt.rollouts import Rollout
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import Task

__all__ = ["NOTHING_SAID", "ground"]

NOTHING_SAID: Final = 0.5
"""The number of an edit that evidence speaks neither for nor against."""

_TERM = re.compile(r"\w+(?:[-./]\w+)*")
_SHORTEST = 3
_PASSED_SHARE: Final = 0.5
"""What a cited task counts that did not fail: a success can motivate an edit, but is no failure that it mends."""


@dataclass(frozen=True)
class _Evidence:
    """What was shown: the terms of each task, and which tasks failed."""

    terms: Mapping[str, frozenset[str]]
    failed: frozenset[str]

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """Weigh terms by how few tasks have them; one that all have weighs nothing."""
        counts = Counter(term for terms in self.terms.values() for term in terms)
        return {term: log((len(self.terms) + 1) / (count + 1)) for term, count in counts.items()}

    def likeness(self, task: str, terms: Iterable[str]) -> float:
        """Sum the weights of terms that a task shares."""
        return sum(self.weights[term] for term in terms if term in self.terms[task])


def ground(edits: Sequence[Edit], shown: Sequence[tuple[Task, Rollout]]) -> dict[str, float]:
    """Return by id how far each edit is supported by the rollouts that were shown.

    Each cited task is a repeat of the claim "this edit comes of that task", and the number is the mean of the
    Beta posterior over a uniform prior: `(1 + Σ wᵢ) / (2 + n)` for n cited tasks, an edit that cites none counting
    as one claim without support. The weight wᵢ is 0 for a task that was not shown. Else it is the share of the
    *other failures*, those not cited, that are less like the edit than task i, equals counted half: what all failures
    share says nothing for one of them. Where all failures are cited, they are compared with the tasks that passed,
    and where nothing is left to compare with, wᵢ is one half. A cited task that did not fail counts half. A task is
    like an edit by the words that both have, each weighing `log((N + 1) / (k + 1))` when k of the N tasks shown
    have it.

    Source:
        That a skill should hold what interaction showed, a posterior, and that the degree can be measured from
        trajectories, is from SPARK (arXiv:2605.09192); the formula is ours.
    """
    evidence = _Evidence(
        {task.id: frozenset(_terms(_words_of(task, rollout))) for task, rollout in shown},
        frozenset(task.id for task, rollout in shown if rollout.score is not None and not rollout.score.passed),
    )
    return {edit.id: _support(edit, evidence) for edit in edits}


def _support(edit: Edit, evidence: _Evidence) -> float:
    cited = tuple(dict.fromkeys(edit.tasks))
    changed = "" if edit.op is Op.ADD else edit.anchor  # the anchor of an `add` only says where
    terms = frozenset(_terms(f"{changed}\n{edit.content}"))
    likeness = {task: evidence.likeness(task, terms) for task in evidence.terms}
    others = {task: value for task, value in likeness.items() if task not in cited}
    failures = [value for task, value in others.items() if task in evidence.failed]
    compared = failures or list(others.values())
    weights = [
        _placed(likeness[task], compared) * (1.0 if task in evidence.failed else _PASSED_SHARE)
        for task in cited
        if task in likeness
    ]
    return (1 + sum(weights)) / (2 + max(1, len(cited)))


def _placed(value: float, others: Sequence[float]) -> float:
    """Return the share of others below a value, equals counted half."""
    if not others:
        return NOTHING_SAID
    return sum((other < value) + (other == value) / 2 for other in others) / len(others)


def _terms(text: str) -> Iterable[str]:
    """List the words of a text that can tell tasks apart."""
    for found in _TERM.finditer(text.casefold()):
        if len(found[0]) >= _SHORTEST or any(map(str.isdecimal, found[0])):
            yield found[0]


def _words_of(task: Task, rollout: Rollout) -> str:
    """Join what the optimizer model may read of a rollout."""
    parts = [task.prompt, rollout.score.feedback if rollout.score else ""]
    for message in rollout.trajectory.messages[1:]:
        parts.append(message.text)
        parts += [f"{call.name} {call.arguments} {call.result}" for call in message.tool_calls]
    return "\n".join(parts)
