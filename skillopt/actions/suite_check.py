"""The user action `suite check`: what the tasks of a suite can tell, by recorded rollouts or by new ones."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from skillopt.errors import ReplyError, SkilloptError
from skillopt.execution.drivers import Drivers, load_drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.scoring import Scoring
from skillopt.execution.threads import ThreadExecutor
from skillopt.gate.judge_noise import JudgeAgreement, judge_agreement
from skillopt.project import Project, Selection, Target
from skillopt.prompts.judging import JUDGE_SCHEMA, JudgedResult, ask_judge, read_judge
from skillopt.rollouts import Rollout
from skillopt.runs.prospect import Prospect, what_it_can_show
from skillopt.runs.recorded_outcomes import (
    CriterionMarks,
    TaskOutcomes,
    count_outcomes,
    marks_of_criteria,
    recorded_rollouts,
)
from skillopt.storage.ledger import Ledger
from skillopt.suites.split_leaks import SplitLeak, find_split_leaks
from skillopt.tasks import JUDGED_KINDS, Split, Suite, Task
from skillopt.verifiers import read_options
from skillopt.verifiers.rubric import RubricOptions, judged_by

__all__ = ["CheckedSuite", "Paid", "check_suite"]

_REPEATS: Final = 3
_RESULTS: Final = 2
"""Recorded results of a task that a judge reads again."""

_FIRST_AGAIN: Final = 101
"""Number of the first of these readings: none that scored a rollout has it."""


@dataclass(frozen=True, slots=True)
class Paid:
    """What a check ran itself; the rest was recorded."""

    rollouts: int = 0
    judge_calls: int = 0


@dataclass(frozen=True, slots=True)
class CheckedSuite:
    """What a suite's tasks can tell."""

    skill: str
    tasks: tuple[TaskOutcomes, ...]
    criteria: tuple[CriterionMarks, ...]
    undecided: tuple[CriterionMarks, ...]
    judge: JudgeAgreement | None
    leaks: tuple[SplitLeak, ...]
    prospect: Prospect
    paid: Paid
    problem: str = ""


def check_suite(
    selection: Selection, *, run: bool = False, readings: int = 4, observer: RunObserver | None = None
) -> CheckedSuite:
    """Check a suite by what is recorded, and on demand by new rollouts and readings."""
    project = selection.project()
    target = project.target(selection)
    suite = target.suite()
    leaks, prospect = find_split_leaks(suite), what_it_can_show(suite, target.settings)
    try:
        found = _Looked.at(project, target, suite, run=run)
    except SkilloptError as error:
        if run:
            raise
        problem = str(error) if (project.root / ".skillopt" / "ledger.db").exists() else ""
        nothing = count_outcomes(suite, {})
        return CheckedSuite(target.name, nothing, (), (), None, leaks, prospect, Paid(), problem)
    with closing(found.ledger):
        paid = found.run(target, observer or RunObserver()) if run else 0
        rollouts = recorded_rollouts(found.ledger, found.drivers, suite)
        again = _Again(found, target, readings, observer or RunObserver())
        more = again.read(rollouts) if run else {}
    criteria = marks_of_criteria(rollouts, more)
    undecided = sorted((one for one in criteria if one.undecided), key=lambda one: -max(one.differs, one.cannot_tell))
    return CheckedSuite(
        target.name,
        count_outcomes(suite, rollouts),
        criteria,
        tuple(undecided),
        judge_agreement(rollout for own in rollouts.values() for rollout in own),
        leaks,
        prospect,
        Paid(paid, again.paid),
    )


@dataclass(frozen=True, slots=True)
class _Looked:
    """The ledger and the drivers of a suite."""

    suite: Suite
    ledger: Ledger
    drivers: Drivers

    @classmethod
    def at(cls, project: Project, target: Target, suite: Suite, *, run: bool) -> "_Looked":
        drivers = load_drivers(target.settings, suite, project.root, optimizer=False)
        return cls(suite, Ledger.open(project.root, read_only=not run), drivers)

    def run(self, target: Target, observer: RunObserver) -> int:
        """Run what is not recorded; held-out tasks are not run, for every look makes them worth less."""
        tasks = [task for split, task in self.suite.splits if split is not Split.TEST]
        scoring = Scoring(self.ledger, self.drivers, target.settings, observer)
        scoring.measure([(target.name, target.skill())], tasks, _REPEATS)
        return scoring.paid_rollouts


class _Again:
    """Has recorded results read again by the judge."""

    def __init__(self, found: _Looked, target: Target, readings: int, observer: RunObserver) -> None:
        self._found = found
        self._settings = target.settings.executor
        self._readings = readings
        self._observer = observer
        self.paid = 0

    def read(self, rollouts: Mapping[str, Sequence[Rollout]]) -> dict[tuple[str, str], list[str]]:
        """Read up to two results of each task again; give the marks by task and result."""
        drivers, tasks = self._found.drivers, {task.id: task for _, task in self._found.suite.splits}
        if drivers.judge is None:
            return {}
        asked: list[tuple[tuple[str, str], list[tuple[JudgedResult, int]]]] = []
        for name, own in rollouts.items():
            shown = [one.score.judgement for one in own if one.score is not None]
            results = dict.fromkeys(one.shown for one in reversed(shown) if one is not None and not one.addressed)
            for result in list(results)[:_RESULTS]:
                parts = _judged_parts(tasks[name], result)
                numbers = range(_FIRST_AGAIN, _FIRST_AGAIN + self._readings)
                asked += [((name, result), [(part, number) for part in parts]) for number in numbers]
        prompts = [ask_judge(part, range(len(part.criteria)), number) for _, read in asked for part, number in read]
        executor = ThreadExecutor(self._settings.workers, self._observer.notice)
        judging = Drivers(drivers.harness, drivers.judge, None, drivers.meter)
        runner = RecordedRunner(self._found.ledger, "", judging, executor, self._observer, self._settings.breaker)
        replies = iter(runner.replies(prompts, JUDGE_SCHEMA))
        more: dict[tuple[str, str], list[str]] = {}
        for place, read in asked:
            marks = [_read(next(replies).text, part, number) for part, number in read]
            more.setdefault(place, []).append("".join(marks))
        self.paid = runner.paid_calls
        return more


def _judged_parts(task: Task, result: str) -> list[JudgedResult]:
    """Return what is judged of a result: once for each rubric that the task has."""
    specs = (spec for spec in task.verifier.parts if spec.kind in JUDGED_KINDS)
    return [judged_by(read_options(RubricOptions, spec), task.prompt, result) for spec in specs]


def _read(reply: str, judged: JudgedResult, number: int) -> str:
    """Read the marks of a reply; one that cannot be read, or counts for nothing, has none."""
    asked = range(len(judged.criteria))
    try:
        reading = read_judge(reply, judged, asked, number)
    except ReplyError:
        return "-" * len(asked)
    return "-" * len(asked) if reading.misled else reading.marks
