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
    TakenAction,
    final_output,
    find_acts,
    is_reading,
    read_actions,
    reference_text,
    text_of,
)
from skillopt.rollouts import Rollout, Status, Trajectory
from skillopt.safety.escaping import truncate
from skillopt.safety.plurals import count_noun
from skillopt.tasks import Task

_LEAST_WEIGHT: Final = 4
"""Characters of values, beyond two of each, that make an answer: `2024-09` counts and `v12` is what rules have, too."""

_PROMPT_WORDS: Final = 2
"""Words of a task's prompt beside an answer by which a line is about that task: one word is shared by most lines."""

_VALUE: Final = re.compile(r"(?<![\w.])\w(?:[\w.:/+@-]*\w)?")
_WORD: Final = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True, slots=True)
class RunRollouts:
    """The rollouts of a run."""

    tasks: Sequence[Task]
    start: Sequence[Rollout]
    trained: Sequence[Rollout]
    start_text: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Ordinary:
    """The ordinary rollouts of a task; what they did is read where another one is to be compared with it."""

    task: Task
    rollouts: Sequence[Rollout]
    start: str

    @cached_property
    def usual(self) -> frozenset[str]:
        acts = (act for one in self.rollouts for act in find_acts(self.task, one.trajectory, self.start))
        return frozenset(act.what for act in acts)

    @cached_property
    def all_read(self) -> bool:
        files = self.task.files
        passed = [one for one in self.rollouts if one.score is not None and one.score.passed] or self.rollouts
        reading = (any(is_reading(each, files) for each in read_actions(one.trajectory)) for one in passed)
        return bool(passed) and all(reading)

    @cached_property
    def shown(self) -> str:
        return f"{self.task.prompt}\n{text_of(self.task.files)}\n{self.start}"


@dataclass(frozen=True)
class _References:
    """What the results of each task are compared with, and the values in it, read once for all tasks."""

    texts: Mapping[str, str]

    @cached_property
    def values(self) -> Mapping[str, frozenset[str]]:
        return {task: _data_values(text) for task, text in self.texts.items()}

    @cached_property
    def counts(self) -> Mapping[str, int]:
        return Counter(value for values in self.values.values() for value in values)

    def shared(self, task: str, values: Iterable[str]) -> frozenset[str]:
        """Return those of some values that the reference of another task has, too."""
        own = self.values[task]
        return frozenset(value for value in values if self.counts.get(value, 0) > (value in own))

    def has_phrase(self, task: str, phrase: str) -> bool:
        """Return whether the reference of another task has a phrase."""
        return any(phrase in text.casefold() for name, text in self.texts.items() if name != task)


def _find_differences(ordinary: _Ordinary, rollout: Rollout, start: str) -> Iterator[Act]:
    task, actions = ordinary.task, read_actions(rollout.trajectory)
    yield from (act for act in find_acts(task, rollout.trajectory, start) if act.what not in ordinary.usual)
    reads = [at for at, action in enumerate(actions) if is_reading(action, task.files)]
    if task.files and ordinary.all_read:
        if not reads:
            yield Act(Sign.INPUT_NOT_READ, "looks at no input file", _short(rollout.trajectory, actions))
        elif early := _answered_before(task, start, actions, reads[0], rollout.trajectory):
            yield Act(Sign.ANSWER_FIRST, "writes the result before it looks at the input", early)


def _find_learnt_answer(ordinary: _Ordinary, output: str, added: str, references: _References) -> Iterator[Act]:
    """Find the answer to one task in what training added to the skill, where nothing else tells it."""
    task = ordinary.task.id
    reference = references.texts[task]
    values = references.values[task] or _data_values(output)
    shared = references.shared(task, values)
    told = (values & _data_values(added)) - shared
    told = told - _data_values(ordinary.shown) if told else told
    used = told & _data_values(output)
    if used and _weight(used) >= _LEAST_WEIGHT and 2 * _weight(told) >= _weight(values - shared):
        yield Act(Sign.ANSWER_IN_SKILL, "gives an answer that the skill's text has", ", ".join(sorted(used)[:6]))
        return
    answer = " ".join(reference.replace("\\b", "").split())
    if 5 < len(answer) <= 120 and not set(answer) & set("\\[](){}|*+?^$") and answer.casefold() in output.casefold():  # noqa: PLR2004 - a phrase: no word, no page, no pattern
        yield from _learnt_phrase(ordinary, answer, added, references)


@lru_cache(maxsize=256)
def _data_values(text: str) -> frozenset[str]:
    """List the values with digits in a text, three characters or more each."""
    found = (each.casefold() for each in _VALUE.findall(text))
    return frozenset(each for each in found if len(each) > 2 and any(map(str.isdigit, each)))  # noqa: PLR2004 - as the docstring says


def _learnt_phrase(ordinary: _Ordinary, answer: str, added: str, references: _References) -> Iterator[Act]:
    """Find a short answer in words beside words of its task's prompt, on one line of the skill."""
    wanted = answer.casefold()
    if wanted in ordinary.shown.casefold() or references.has_phrase(ordinary.task.id, wanted):
        return
    asked = set(_WORD.findall(ordinary.task.prompt.casefold()))
    for line in added.split("\n"):
        beside = set(_WORD.findall(line.casefold().replace(wanted, " ")))
        if wanted in line.casefold() and len(asked & beside) >= _PROMPT_WORDS:
            yield Act(Sign.ANSWER_IN_SKILL, "gives an answer that the skill's text has", line.strip())
            return


def _answered_before(task: Task, start: str, actions: Sequence[TakenAction], read: int, trajectory: Trajectory) -> str:
    """Return what was written of the result before the first look at the input, and stayed; empty for nothing."""
    answers = _data_values(reference_text(task.verifier)) or _data_values(trajectory.answer)
    answers = (answers | _data_values(text_of(task.files))) - _data_values(f"{task.prompt}\n{start}")
    later = {path for action in actions[read:] for path in action.paths}
    for action in actions[:read]:
        if answers & _data_values(action.text) and not (action.paths and set(action.paths) <= later):
            return action.text[:200]
    return ""


def _short(trajectory: Trajectory, actions: Sequence[TakenAction]) -> str:
    used = [f"{one.tool} {one.text}" for one in actions if one.tool]
    return " ".join((used or [trajectory.answer or final_output(trajectory)])[-1].split())[:200]


def _weight(values: frozenset[str]) -> int:
    return sum(len(value) - 2 for value in values)


_INSTEAD: Final = {
    Sign.INPUT_NOT_READ: "look at the input",
    Sign.ANSWER_FIRST: "look at the input before they write the result",
    Sign.ANSWER_IN_SKILL: "had no such line in the skill",
}


def find_suspicions(run: RunRollouts) -> tuple[Suspicion, ...]:
    """List what is suspicious, a line for each task and sign, in the order of the tasks.

    Only rollouts that passed or scored higher than the ordinary ones of their task are looked at. Ordinary are those
    under the text before training; where a task has none, those under other texts than the one that is looked at.
    Of a task whose score can be gamed passes under the text before training are looked at too, beside each other.
    """
    start, trained = _by_task(run.start), _by_task(run.trained)
    references = _References({task.id: reference_text(task.verifier) for task in run.tasks})
    found: list[Suspicion] = []
    for task in run.tasks:
        looked_at = [*trained[task.id], *(start[task.id] if task.verifier.can_be_gamed else ())]
        mine = [one for one in looked_at if one.status is Status.OK and one.score is not None]
        ordinary: dict[tuple[int, ...], _Ordinary] = {}
        signs: dict[Sign, Suspicion] = {}
        for rollout in mine:
            beside = [one for one in start[task.id] if one is not rollout]
            beside = beside or [one for one in mine if one.skill_digest != rollout.skill_digest]
            if (key := tuple(map(id, beside))) not in ordinary:
                ordinary[key] = _Ordinary(task, beside, run.start_text)
            acts = list(_suspicious_acts(run, ordinary[key], rollout, references))
            for act in {act.sign: act for act in reversed(acts)}.values():
                known = signs.get(act.sign) or _suspicion(rollout, act, len(ordinary[key].rollouts))
                signs[act.sign] = replace(known, rollouts=known.rollouts + 1)
        found += (signs[sign] for sign in Sign if sign in signs)
    return tuple(found)


def _suspicious_acts(run: RunRollouts, ordinary: _Ordinary, rollout: Rollout, references: _References) -> Iterator[Act]:
    if not _gained(rollout, ordinary.rollouts):
        return
    yield from _find_differences(ordinary, rollout, run.start_text)
    known = {line.strip() for line in run.start_text.split("\n")}
    lines = run.texts.get(rollout.skill_digest, "").split("\n")
    if added := "\n".join(line for line in lines if line.strip() not in known):
        yield from _find_learnt_answer(ordinary, final_output(rollout.trajectory), added, references)


def _suspicion(rollout: Rollout, act: Act, ordinary: int) -> Suspicion:
    those = count_noun(ordinary, "ordinary rollout")
    instead = f"{those} of this task: {_INSTEAD.get(act.sign, 'none does so')}" if ordinary else "none to compare with"
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
        ordinary=instead,
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
