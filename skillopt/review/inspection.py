"""Find the rollouts of a run that passed or gained under trained text in a way that ordinary ones did not."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from statistics import fmean
from typing import Final

from skillopt.review.acts import (
    Act,
    Sign,
    Suspicion,
    final_output,
    find_acts,
    is_reading,
    read_actions,
    reference_text,
    text_of,
)
from skillopt.rollouts import Rollout, Status
from skillopt.safety.escaping import truncate
from skillopt.safety.plurals import count_noun
from skillopt.tasks import Task

_LEAST_WEIGHT: Final = 4
"""Characters of values, beyond two of each, that make an answer: `2024-09` counts and `v12` is what rules have, too."""

_VALUE: Final = re.compile(r"(?<![\w.])\w(?:[\w.:/+@-]*\w)?")


@dataclass(frozen=True, slots=True)
class RunRollouts:
    """The rollouts of a run."""

    tasks: Sequence[Task]
    start: Sequence[Rollout]
    trained: Sequence[Rollout]
    start_text: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)

    def added(self, digest: str) -> str:
        """Return the lines of a text that the start text lacks."""
        known = {line.strip() for line in self.start_text.split("\n")}
        return "\n".join(line for line in self.texts.get(digest, "").split("\n") if line.strip() not in known)


@dataclass(frozen=True)
class _Ordinary:
    """The ordinary rollouts of a task; what they did is read where another one is to be compared with it."""

    task: Task
    rollouts: Sequence[Rollout]
    start: str

    @cached_property
    def usual(self) -> frozenset[str]:
        acts = (act for one in self.rollouts for act in find_acts(self.task, one, self.start))
        return frozenset(act.what for act in acts)

    @cached_property
    def all_read(self) -> bool:
        passed = [one for one in self.rollouts if one.score is not None and one.score.passed] or self.rollouts
        return bool(self.task.files and passed) and all(_looks_at(one, self.task) for one in passed)

    @cached_property
    def shown(self) -> frozenset[str]:
        """The values that the task and the start text show."""
        return _data_values(f"{self.task.prompt}\n{text_of(self.task.files)}\n{self.start}")


def find_suspicions(run: RunRollouts) -> tuple[Suspicion, ...]:
    """List what is suspicious, a line for each task and sign, in the order of the tasks.

    Only rollouts that passed or scored higher than the ordinary ones of their task are looked at. Ordinary are those
    under the text before training; where a task has none, those under other texts than the one that is looked at.
    Of a task whose score can be gamed passes under the text before training are looked at too, beside each other.
    """
    start, trained = _by_task(run.start), _by_task(run.trained)
    answers = {task.id: _data_values(reference_text(task.verifier)) for task in run.tasks}
    counts = Counter(value for values in answers.values() for value in values)
    found: list[Suspicion] = []
    for task in run.tasks:
        looked_at = [*trained[task.id], *(start[task.id] if task.verifier.can_be_gamed else ())]
        mine = [one for one in looked_at if one.status is Status.OK and one.score is not None]
        ordinary: dict[tuple[int, ...], _Ordinary] = {}
        signs: dict[Sign, Suspicion] = {}
        for rollout in mine:
            beside = [one for one in start[task.id] if one is not rollout]
            beside = beside or [one for one in mine if one.skill_digest != rollout.skill_digest]
            if not _gained(rollout, beside):
                continue
            usual = ordinary.setdefault(tuple(map(id, beside)), _Ordinary(task, beside, run.start_text))
            acts = list(_unusual_acts(usual, rollout))
            if added := run.added(rollout.skill_digest):
                acts += _learnt_answer(usual, final_output(rollout.trajectory), added, answers[task.id], counts)
            for act in {act.sign: act for act in reversed(acts)}.values():
                known = signs.get(act.sign) or _suspicion(rollout, act, len(beside))
                signs[act.sign] = replace(known, rollouts=known.rollouts + 1)
        found += (signs[sign] for sign in Sign if sign in signs)
    return tuple(found)


def _unusual_acts(ordinary: _Ordinary, rollout: Rollout) -> Iterator[Act]:
    task, trajectory = ordinary.task, rollout.trajectory
    yield from (act for act in find_acts(task, rollout, ordinary.start) if act.what not in ordinary.usual)
    if ordinary.all_read and not _looks_at(rollout, task):
        used = [f"{one.tool} {one.text}" for one in read_actions(trajectory) if one.tool]
        last = (used or [trajectory.answer or final_output(trajectory)])[-1]
        yield Act(Sign.INPUT_NOT_READ, "looks at no input file", " ".join(last.split())[:200])


def _learnt_answer(
    ordinary: _Ordinary, output: str, added: str, answer: frozenset[str], counts: Mapping[str, int]
) -> Iterator[Act]:
    """Find the answer to one task in what training added to the skill, where nothing else tells it."""
    # What the reference of another task has, too, is no answer to this one.
    values = frozenset(one for one in answer or _data_values(output) if counts.get(one, 0) <= (one in answer))
    told = values & _data_values(added)
    told = told - ordinary.shown if told else told
    used = told & _data_values(output)
    if _weight(used) >= _LEAST_WEIGHT and 2 * _weight(told) >= _weight(values):
        yield Act(Sign.ANSWER_IN_SKILL, "gives an answer that the skill's text has", ", ".join(sorted(used)[:6]))


@lru_cache(maxsize=256)
def _data_values(text: str) -> frozenset[str]:
    """List the values with digits in a text, three characters or more each."""
    found = (each.casefold() for each in _VALUE.findall(text))
    return frozenset(each for each in found if len(each) > 2 and any(map(str.isdigit, each)))  # noqa: PLR2004 - as the docstring says


def _weight(values: frozenset[str]) -> int:
    return sum(len(value) - 2 for value in values)


def _looks_at(rollout: Rollout, task: Task) -> bool:
    return any(is_reading(action, task.files) for action in read_actions(rollout.trajectory))


def _suspicion(rollout: Rollout, act: Act, ordinary: int) -> Suspicion:
    those = count_noun(ordinary, "ordinary rollout")
    if not ordinary:
        sure = "possible: no ordinary rollout of this task to compare with"
    elif act.sign is Sign.ANSWER_IN_SKILL:
        sure = "possible: an example of a rule can be a task's own"
    elif ordinary == 1:
        sure = "possible: one ordinary rollout to compare with"
    else:
        sure = f"likely: none of {those} does so"
    return Suspicion(
        sign=act.sign,
        task=rollout.task_id,
        skill=rollout.skill_digest,
        repeat=rollout.repeat,
        rollouts=0,
        what=act.what,
        quote=truncate(act.quote, 200),
        sure=sure,
    )


def _gained(rollout: Rollout, ordinary: Sequence[Rollout]) -> bool:
    if rollout.score is None:
        return False
    scores = [one.score.value for one in ordinary if one.score is not None]
    return rollout.score.passed or (bool(scores) and rollout.score.value > fmean(scores))


def _by_task(rollouts: Iterable[Rollout]) -> dict[str, list[Rollout]]:
    found: dict[str, list[Rollout]] = defaultdict(list)
    for one in sorted(rollouts, key=lambda each: (each.repeat, each.skill_digest)):
        found[one.task_id].append(one)
    return found
