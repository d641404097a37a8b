"""The user action `write-tasks`: draft tasks from a skill's text, try them, and leave them for a person to review."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.errors import UsageError
from skillopt.execution.available import expect_chosen
from skillopt.execution.drivers import Drivers, load_drivers
from skillopt.execution.executors import make_executor
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.project import Project, Selection, Target
from skillopt.prompts.task_drafts import TaskDraft
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Usage
from skillopt.safety.plurals import count_noun
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.suites.config_lines import put_file
from skillopt.suites.review_file import read_review, render_review
from skillopt.suites.suite_file import tasks_in
from skillopt.suites.trials import (
    Drafting,
    FixedAnswers,
    RunRequests,
    TrialLimits,
    TrialRunners,
    Tried,
    draft_tasks,
    try_drafts,
)
from skillopt.targets.chat import ChatHarness
from skillopt.tasks import Split, Suite, Task

__all__ = ["DraftedTask", "WrittenTasks", "review_path", "write_tasks"]

_MANY: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class DraftedTask:
    """A draft and what its trials showed."""

    id: str
    kept: bool
    result: str
    detail: str
    near_miss: bool
    passed_with: int
    passed_without: int
    runs: int


@dataclass(frozen=True, slots=True)
class WrittenTasks:
    """What was drafted."""

    skill: str
    review: str
    drafts: tuple[DraftedTask, ...]
    unread: tuple[tuple[str, str], ...]
    paid_rollouts: int
    paid_calls: int
    spent: Mapping[str, Usage]


def write_tasks(
    selection: Selection, *, count: int = 12, repeats: int = 1, observer: RunObserver | None = None
) -> WrittenTasks:
    """Draft tasks for a skill and try them; nothing becomes a task by this.

    The same command goes on where it was interrupted; recorded answers are never paid for again.
    """
    project = selection.project()
    target = project.target(selection)
    known, skill, review = _known(target), target.skill(), review_path(project, target)
    _expect_reviewed(review, target.name)
    _expect_language_model(target)
    observer = observer or RunObserver()
    with closing(Ledger.open(project.root)) as ledger:
        work = _Work(target, project, ledger, observer)
        drafting = work.draft(skill, known, count)
        reading = drafting.reading
        runners, drivers = work.runners(reading.drafts)
        caps = target.settings
        limits = TrialLimits(
            repeats,
            max(0, caps.max_calls - drafting.calls) if caps.max_calls else count,
            caps.max_rollouts // (2 * repeats) if caps.max_rollouts else count,
        )
        tried = try_drafts(reading.drafts, skill, runners, known, limits)
    if any(one.result.kept for one in tried):
        model = drivers.model.identity if drivers.model else ""
        put_file(review, render_review(target.name, tried, model=model, target=drivers.harness.identity))
    return WrittenTasks(
        target.name,
        str(review) if review.exists() else "",
        tuple(map(_row, tried)),
        reading.unread,
        sum(runner.paid_rollouts for runner in work.made),
        sum(runner.paid_calls for runner in work.made),
        drivers.meter.by_role,
    )


def review_path(project: Project, target: Target) -> Path:
    """Return the file in which drafts for a skill wait: beside its suite."""
    suite = target.suite_path or project.root / "suites" / target.name
    place = suite.parent if suite.name == "suite.yaml" else suite
    return place.with_name(f"{place.stem if place.suffix in {'.yaml', '.yml', '.jsonl'} else place.name}.review.md")


def _known(target: Target) -> tuple[Task, ...]:
    return () if target.suite_path is None else tasks_in(target.suite_path)


def _expect_reviewed(review: Path, skill: str) -> None:
    """Refuse to write over drafts that wait."""
    waiting = read_review(review.read_text(encoding="utf-8")) if review.exists() else ()
    if waiting:
        raise UsageError(
            f"{review}: {len(waiting)} drafts wait for you there; tick those to keep and run `skillopt write-tasks "
            f"{skill} --accept`, or delete the file to draft anew"
        )


def _expect_language_model(target: Target) -> None:
    settings = target.settings
    expect_chosen(settings, harness=True, model=True)
    for role, name in (("model", settings.model), ("harness", settings.harness)):
        if name == "demo":
            raise UsageError(
                f"expected as {role} a language model, which can write and do tasks, found the demo; set {role} "
                "(`skillopt init --harness …` says what is here)"
            )


class _Work:
    """Makes who drafts and who answers in the trials; all answers are recorded, all calls are metered together."""

    def __init__(self, target: Target, project: Project, ledger: Ledger, observer: RunObserver) -> None:
        self._settings, self._root = target.settings, project.root
        self._ledger, self._observer = ledger, observer
        self._drivers = load_drivers(target.settings, Suite("drafts", ()), project.root)
        self.made: list[RecordedRunner] = []

    def draft(self, skill: Skill, known: Sequence[Task], count: int) -> Drafting:
        """Ask for drafts."""
        self._observer.notice(f"drafting {count} tasks with {self._settings.model}")
        most = self._settings.max_calls or _MANY
        return draft_tasks(self._runner(self._drivers), skill, known, count, most)

    def runners(self, drafts: Sequence[TaskDraft]) -> tuple[TrialRunners, Drivers]:
        """Make who answers in the trials; a judge only where a draft has criteria."""
        judged = [(Split.VAL, draft.task) for draft in drafts if draft.task.verifier.judged][:1]
        suite, meter = Suite("drafts", tuple(judged)), self._drivers.meter
        drivers = load_drivers(self._settings, suite, self._root, meter=meter)
        if drivers.model is None:
            raise AssertionError("expected an optimizer model, which load_drivers makes")
        model, target = self._settings.model, self._settings.harness
        trials = (
            ("checking that empty answers fail", FixedAnswers("empty answer", lambda _: "")),
            ("checking that requests as answers fail", FixedAnswers("request as answer", lambda task: task.prompt)),
            (f"doing the tasks with {model}", ChatHarness(drivers.model)),
            (f"running {target} with the skill and without", drivers.harness),
        )
        bare = replace(drivers, model=None, notice="")
        return TrialRunners(*(self._told(what, replace(bare, harness=harness)) for what, harness in trials)), drivers

    def _told(self, what: str, drivers: Drivers) -> RunRequests:
        """Make a runner that says what it does."""
        runner = self._runner(drivers)

        def run(requests: Sequence[RolloutRequest]) -> Sequence[Rollout]:
            if requests:
                self._observer.notice(f"{what}: {count_noun(len(requests), 'run')}")
            return runner.rollouts(requests)

        return run

    def _runner(self, drivers: Drivers) -> RecordedRunner:
        executor = make_executor(self._settings, self._observer.notice, drivers.cluster)
        breaker = self._settings.executor.breaker
        self.made.append(RecordedRunner(self._ledger, "", drivers, executor, self._observer, breaker))
        return self.made[-1]


def _row(tried: Tried) -> DraftedTask:
    return DraftedTask(
        tried.draft.task.id,
        tried.result.kept,
        tried.result.value,
        tried.detail,
        tried.draft.near_miss,
        tried.passed_with,
        tried.passed_without,
        tried.runs,
    )
