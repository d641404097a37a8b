"""Find the version of a skill that broke a train or val task, by binary search, for the command `bisect`.

Tasks of the held-out test cannot be searched.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from difflib import get_close_matches

from skillopt.errors import UsageError
from skillopt.execution.drivers import load_drivers
from skillopt.execution.executors import make_executor
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.loop.caps import CappedRunner
from skillopt.project import Selection
from skillopt.review.bisection import Bisection, Found
from skillopt.rollouts import Usage
from skillopt.runs.lineage import TextState, texts_of
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite, Task
from skillopt.versions.repository import Repository

__all__ = ["Bisected", "BisectedText", "Span", "bisect"]

_TWO = 2


@dataclass(frozen=True, slots=True)
class Span:
    """Where a search begins and ends.

    Args:
        good: A version with which the task works, empty for the text that training started from.
        bad: A version with which it does not, empty for the newest.
    """

    good: str = ""
    bad: str = ""


@dataclass(frozen=True, slots=True)
class BisectedText:
    """A text that was measured; `subject` is that of its commit, `passed` of `repeats` runs did."""

    commit: str
    version: bool
    subject: str
    repeats: int
    passed: int
    score: float


@dataclass(frozen=True, slots=True)
class Bisected:
    """What a search found.

    Args:
        skill: Name of the skill.
        task: Id of the task.
        culprit: The commit that broke it, empty when none was found.
        before: The commit before that, or the last one shown to be good.
        after: The first one shown to be bad, or the last one there is.
        shown: Whether anything is shown to have broken it at all.
        confidence: That what was found is so.
        reason: Why the search ended, in words.
        texts: Texts that lie between, those at the ends included.
        measured: Those that were measured, oldest first.
        rollouts: Rollouts asked for.
        paid_rollouts: Of those, how many this command ran itself.
        spent: What each role consumed.
    """

    skill: str
    task: str
    culprit: str
    before: str
    after: str
    shown: bool
    confidence: float
    reason: str
    texts: int
    measured: tuple[BisectedText, ...]
    rollouts: int
    paid_rollouts: int
    spent: Mapping[str, Usage]


def bisect(
    selection: Selection, task: str, span: Span | None = None, *, repeats: int = 20, observer: RunObserver | None = None
) -> Bisected:
    """Search for the version that broke a task.

    Args:
        selection: The skill, its suite and settings.
        task: Id of a train or val task.
        span: Where the search begins and ends.
        repeats: Most runs of the task with one text.
        observer: Follows the rollouts.

    Raises:
        UsageError: There is no such task or version, or fewer than two texts; nothing was spent.
        InvalidMeasurementError: The task could not be measured.
    """
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    settings, suite = target.settings, target.suite()
    wanted = _task(suite, task)
    states = _between(repository, texts_of(repository, target), span or Span())
    drivers = load_drivers(settings, suite, project.root, optimizer=False)
    observer = observer or RunObserver()
    with closing(Ledger.open(project.root)) as ledger:
        executor = make_executor(settings, observer.notice, drivers.cluster)
        runner = RecordedRunner(ledger, "", drivers, executor, observer, settings.executor.breaker)
        capped = CappedRunner(runner, settings, 0)
        texts = [state.skill for state in states]
        found = Bisection(texts, wanted, capped, settings.metric, settings.confidence, repeats).search()
    return Bisected(
        target.name,
        task,
        states[found.bad].commit if found.conclusive else "",
        states[found.good].commit,
        states[found.bad].commit,
        found.shown,
        settings.confidence,
        _told(found, settings.confidence),
        len(states),
        tuple(_measured(repository, states, found)),
        capped.rollouts_asked,
        runner.paid_rollouts,
        drivers.meter.by_role,
    )


def _task(suite: Suite, name: str) -> Task:
    tasks = {task.id: (split, task) for split, task in suite.splits}
    if name not in tasks:
        near = get_close_matches(name, tasks, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the suite {suite.name!r} has {len(tasks)} others"
        raise UsageError(f"expected the id of a task, found {name!r}; {hint}")
    split, task = tasks[name]
    if split is Split.TEST:
        message = (
            f"expected a train or val task, found {name!r} of the held-out test; every look at it makes it worth less"
        )
        raise UsageError(f"{message}, so bisect a task of val that is like it")
    return task


def _between(repository: Repository, states: Sequence[TextState], span: Span) -> list[TextState]:
    """Take the texts from the good to the bad one; a text that is that of the one before is left out."""
    commits = [state.commit for state in states]
    ends = []
    for name, otherwise in ((span.good, commits[0]), (span.bad, commits[-1])):
        commit = repository.resolve(name) if name else otherwise
        if commit not in commits:
            raise UsageError(f"expected a version, found {name!r} that is none of this skill; see `skillopt log`")
        ends.append(len(commits) - 1 - commits[::-1].index(commit))
    kept: list[TextState] = []
    for state in states[ends[0] : ends[1] + 1]:
        if not kept or kept[-1].skill.digest != state.skill.digest:
            kept.append(state)
    if len(kept) < _TWO:
        raise UsageError("expected at least two texts to search among, found fewer; see `skillopt log`")
    return kept


def _measured(repository: Repository, states: Sequence[TextState], found: Found) -> list[BisectedText]:
    rows = []
    for probe in found.probes:
        state = states[probe.text]
        subject = (state.version or repository.commit(state.commit)).subject
        rows.append(
            BisectedText(state.commit, state.version is not None, subject, probe.repeats, probe.passed, probe.score)
        )
    return rows


def _told(found: Found, confidence: float) -> str:
    if found.conclusive:
        return f"it broke the task, with confidence {confidence:g}"
    if found.shown:
        return (
            f"one of {found.bad - found.good} versions broke the task, with confidence {confidence:g}: {found.reason}"
        )
    return f"inconclusive: {found.reason}"
