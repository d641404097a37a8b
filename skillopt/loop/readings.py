"""Readings of one step's evidence: the edits of each, their support by the rollouts that they cite, their advantage."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log, sqrt
from statistics import fmean
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from skillopt.loop.events import EditsGrounded, EditUnreadable, Event, FailuresNamed, PatchesCompared, PromptSkipped
from skillopt.prompts.failure_kinds import NamedFailure, TaskFailureKind, kind_of
from skillopt.prompts.proposed_edits import ProposedEdit, Reflection, Unread
from skillopt.rollouts import Rollout
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import Task

__all__ = [
    "NOTHING_SAID",
    "EditKey",
    "PlannedReading",
    "ReadingPool",
    "advantages",
    "ground",
    "plan_readings",
    "rotate",
    "value_of",
]

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


T = TypeVar("T")

_OPS: Final = (Op.ADD, Op.REPLACE, Op.DELETE)
"""Kinds of edit in the order in which a group looks for them."""

_FOCUS: Final = MappingProxyType(
    {
        Op.ADD: "In this reading, look first for rules that are missing, and prefer edits that add.",
        Op.REPLACE: "In this reading, look first for text that is wrong, vague or too narrow, and prefer edits that "
        "replace it.",
        Op.DELETE: "In this reading, look first for text that is in the way or that nothing needs, and prefer edits "
        "that delete.",
    }
)


@dataclass(frozen=True, slots=True)
class PlannedReading:
    """One of several readings of the same evidence."""

    name: str
    focus: str
    turn: float


def plan_readings(groups: int) -> tuple[PlannedReading, ...]:
    """Return what each reading of a group looks for; a single one looks for whatever helps."""
    if groups == 1:
        return (PlannedReading("any", "", 0.0),)
    return tuple(
        PlannedReading(_OPS[number % len(_OPS)].value, _FOCUS[_OPS[number % len(_OPS)]], number / groups)
        for number in range(groups)
    )


def rotate(items: Sequence[T], turn: float) -> tuple[T, ...]:
    """Move a share of items from the front to the end, so that others meet in a minibatch."""
    at = int(len(items) * turn)
    return (*items[at:], *items[:at])


def value_of(edits: Sequence[str], numbers: Mapping[str, float]) -> float:
    """Return what a patch is worth before anything is run: how far its edits are supported beyond nothing said."""
    return sum(numbers[edit] - NOTHING_SAID for edit in edits)


def advantages(values: Sequence[float]) -> tuple[float, ...]:
    """Return the advantage of each member of a group: its distance from the mean in standard deviations.

    >>> advantages([1.0, 2.0, 3.0])
    (-1.224744871391589, 0.0, 1.224744871391589)
    >>> advantages([0.4, 0.4])
    (0.0, 0.0)

    Source:
        Group-relative advantage over several candidates of one state: GRPO (arXiv:2402.03300), used on skill
        revisions by Skill-R1 (arXiv:2605.09359). Here it orders edits and trains nothing.
    """
    mean = fmean(values)
    spread = sqrt(fmean((value - mean) ** 2 for value in values))
    return tuple((value - mean) / spread if spread > 1e-9 else 0.0 for value in values)  # noqa: PLR2004 - what rounding leaves


EditKey: TypeAlias = tuple[str, ...]
"""What makes an edit the same edit."""


@dataclass(slots=True)
class ReadingPool:
    """What the readings of one step came to."""

    edits: dict[EditKey, ProposedEdit] = field(default_factory=dict)
    patches: list[tuple[str, tuple[EditKey, ...]]] = field(default_factory=list)
    kinds: dict[EditKey, TaskFailureKind] = field(default_factory=dict)
    failures: dict[str, NamedFailure] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    skipped: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    shown: tuple[str, ...] = ()

    def note(self, replies: Sequence[Reflection], shown: Collection[str]) -> None:
        """Note what replies say of kinds, and what in them could not be read; a task that was not shown has no kind."""
        for reply in replies:
            stated = zip(reply.edits, reply.kinds, strict=True)
            self.kinds |= {edit.key: kind for edit, kind in stated if kind is not None}
            self.failures |= {failure.task: failure for failure in reply.failures if failure.task in shown}
            self.unread += reply.unread

    def take(self, reading: str, edits: Sequence[ProposedEdit]) -> None:
        """Take up a candidate patch; an edit that is there already cites the tasks of both."""
        for edit in edits:
            known = self.edits.get(edit.key, edit)
            tasks = tuple(dict.fromkeys((*known.cited, *edit.cited)))
            self.edits[edit.key] = known if tasks == known.cited else known.model_copy(update={"tasks": tasks})
        self.patches.append((reading, tuple(dict.fromkeys(edit.key for edit in edits))))

    def advantages(self, edits: Mapping[EditKey, Edit], numbers: Mapping[str, float]) -> tuple[float, ...]:
        """Return the advantage of each candidate patch in its group."""
        return advantages([value_of([edits[key].id for key in keys], numbers) for _, keys in self.patches])

    def gained(self, edits: Mapping[EditKey, Edit], numbers: Mapping[str, float]) -> dict[str, float]:
        """Return by edit id the advantage of the best candidate patch that has the edit."""
        found = self.advantages(edits, numbers) if self.patches else ()
        return {
            edit.id: max(gain for gain, (_, keys) in zip(found, self.patches, strict=True) if key in keys)
            for key, edit in edits.items()
        }

    def findings(self, step: int, edits: Mapping[EditKey, Edit], numbers: Mapping[str, float]) -> Iterator[Event]:
        """Yield what there is to report of one step."""
        named = {failure.task: failure.kind for failure in self.failures.values()}
        kinds = {edit.id: kind_of(self.kinds.get(key), edit.tasks, named) for key, edit in edits.items()}
        if named or any(kinds.values()):
            told = tuple((name, kind.value) for name, kind in kinds.items() if kind is not None)
            yield FailuresNamed(step, tuple((task, kind.value) for task, kind in named.items()), told)
        for tasks, reason in self.skipped:
            yield PromptSkipped(step, reason, tasks)
        for text, reason in self.unread:
            yield EditUnreadable(step, text, reason)
        if edits:
            yield EditsGrounded(step, tuple(numbers.items()))
        if len(self.patches) > 1:
            names = (name for name, _ in self.patches)
            yield PatchesCompared(step, tuple(zip(names, self.advantages(edits, numbers), strict=True)))
