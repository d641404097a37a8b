"""A call of the Python API: what it works with, and what it gives back."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt.errors import SuiteError, UsageError
from skillopt.execution.drivers import Drivers, Given, load_drivers
from skillopt.execution.metering import expect, shown
from skillopt.execution.recording import Recording, config_of, record_of
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.figures import Headline, headline_of_verdict
from skillopt.gate.comparison import Pairs, Tally, check_coverage, compare, expect_measured, tally
from skillopt.gate.decide import Question, Verdict, decide
from skillopt.loop.events import (
    DraftChanged,
    DraftGraded,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    ReleaseCheckWithheld,
    VersionAccepted,
    newest_draft,
)
from skillopt.loop.gained import gained_by_run
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Usage
from skillopt.safety.plurals import count_noun
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Suite, Task
from skillopt.verifiers import VERIFIERS


@dataclass(frozen=True, slots=True)
class OptimizeResult:
    """The result of a training run."""

    run: str
    skill: Skill
    reason: str
    events: tuple[Event, ...]
    rollouts: int
    calls: int
    paid_rollouts: int
    paid_calls: int
    usage: Mapping[str, Usage]
    resumed: bool = False

    def __repr__(self) -> str:
        versions = count_noun(len(self.versions), "version")
        return f"<OptimizeResult {self.run[:8]}: {versions}, {count_noun(self.rollouts, 'rollout')}; {self.reason}>"

    @property
    def versions(self) -> tuple[VersionAccepted, ...]:
        """List the accepted versions, oldest first, each with its whole text, its edits and its verdict."""
        return tuple(event for event in self.events if isinstance(event, VersionAccepted))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """List what the gate found of each candidate, in order."""
        return tuple(event.verdict for event in self.events if isinstance(event, GateDecided))

    @property
    def draft(self) -> DraftGraded | DraftChanged | None:
        """What waits at the end, with its grade unless a cap stopped the run before that; None for nothing."""
        return newest_draft(self.events)

    @property
    def headline(self) -> Headline | None:
        """The tasks passed before and after training, on the same tasks; None where nothing was accepted."""
        return gained_by_run(self.events)

    @property
    def test(self) -> HeldOutTestMeasured | None:
        """The release check on the held-out tasks, None when nothing was accepted or it was withheld."""
        return next((event for event in self.events if isinstance(event, HeldOutTestMeasured)), None)

    @property
    def withheld(self) -> str:
        """Why the release check was withheld; empty when it was not."""
        return next((event.reason for event in self.events if isinstance(event, ReleaseCheckWithheld)), "")


@dataclass(frozen=True, slots=True)
class EvaluateResult:
    """The result of one skill on one split; `digest` is empty for no skill."""

    name: str
    digest: str
    tally: Tally
    rollouts: tuple[Rollout, ...]

    def __repr__(self) -> str:
        return f"<EvaluateResult {self.name}: {self.passed} of {self.measured} tasks passed, score {self.score:.3f}>"

    @property
    def usage(self) -> Usage:
        """The calls, tokens and US dollars of these rollouts, those that were in the store included."""
        return Usage.total(rollout.usage for rollout in self.rollouts)

    @property
    def score(self) -> float:
        """The mean score of the measured tasks, in [0, 1]."""
        return self.tally.score

    @property
    def tasks(self) -> Mapping[str, tuple[Rollout, ...]]:
        """The rollouts of each task, by its id."""
        found: dict[str, tuple[Rollout, ...]] = {}
        for rollout in self.rollouts:
            found[rollout.task_id] = (*found.get(rollout.task_id, ()), rollout)
        return found

    @property
    def passed(self) -> int:
        """Count the tasks that passed in each repeat that was measured."""
        scores = ([one.score for one in repeats if one.score is not None] for repeats in self.tasks.values())
        return sum(bool(found) and all(score.passed for score in found) for found in scores)

    @property
    def measured(self) -> int:
        """Count the tasks that have a score: `passed` of so many passed."""
        return self.tally.measured


@dataclass(frozen=True, slots=True)
class CompareResult:
    """The results of two skills on the same tasks."""

    before: EvaluateResult
    after: EvaluateResult
    verdict: Verdict

    def __repr__(self) -> str:
        return f"<CompareResult {self.before!r} -> {self.after!r}: {self.verdict.outcome.value}>"

    @property
    def headline(self) -> Headline | None:
        """The tasks passed before and after, on the same tasks; None where none was measured for both."""
        return headline_of_verdict(self.verdict)


class Scoring:
    """Measures skills on the same tasks, outside of any run."""

    def __init__(self, ledger: Ledger, drivers: Drivers, settings: Settings, observer: RunObserver) -> None:
        self._runner = RecordedRunner(ledger, "", drivers, observer)
        self._settings = settings

    @property
    def paid_rollouts(self) -> int:
        """Count the rollouts that were not recorded before."""
        return self._runner.paid_rollouts

    def measure(
        self, named: Sequence[tuple[str, Skill | None]], tasks: Sequence[Task], repeats: int
    ) -> tuple[EvaluateResult, ...]:
        """Measure skills, in their order."""
        requests = [
            RolloutRequest(skill, task, repeat) for _, skill in named for repeat in range(repeats) for task in tasks
        ]
        rollouts = self._runner.rollouts(requests)
        size = len(tasks) * repeats
        parts = [rollouts[at * size : (at + 1) * size] for at in range(len(named))]
        return tuple(self._measured(name, skill, own) for (name, skill), own in zip(named, parts, strict=True))

    def compare(self, before: EvaluateResult, after: EvaluateResult) -> Verdict:
        """Compare two skills task by task, asking for confidence."""
        pairs, settings = Pairs(list(before.rollouts), list(after.rollouts)), self._settings
        expect_measured(after.name, pairs, settings.coverage)
        found = compare(pairs, settings.metric, settings.coverage)
        return decide(found, Question.BETTER, 1.0 - settings.confidence)

    def _measured(self, name: str, skill: Skill | None, own: tuple[Rollout, ...]) -> EvaluateResult:
        check_coverage(name, own, self._settings.coverage)
        return EvaluateResult(name, skill.digest if skill else "", tally(own), own)


_LOG = logging.getLogger("skillopt")


@dataclass(frozen=True, slots=True)
class _Session:
    root: Path
    ledger: Ledger
    drivers: Drivers
    settings: Settings

    def begin(self, skill: Skill, suite: Suite, on_event: Callable[[Event], None] | None) -> tuple[Recording, bool]:
        """Record a run, or take up the one of the same text, suite, settings and drivers; say whether it goes on."""
        drivers, settings = self.drivers, self.settings
        identities = tuple(one.identity for one in (drivers.harness, drivers.model, drivers.judge) if one is not None)
        record = record_of(skill, suite, config_of(settings, identities), settings.seed)
        known = self.ledger.find_run(record.id) is not None
        return Recording(self.ledger, self.ledger.begin_run(record), drivers, settings, _Events(on_event)), known

    def scoring(self) -> Scoring:
        """Measure outside of any run."""
        return Scoring(self.ledger, self.drivers, self.settings, _Events())


@contextmanager
def open_session(
    store: Path | str | None, settings: Settings, suite: Suite, given: Given, *, optimizer: bool = False
) -> Iterator[_Session]:
    """Make the drivers, check what can be checked for nothing, and open the ledger."""
    expect(Suite, suite, "read one with load_suite")
    _expect_named(settings, given, optimizer=optimizer)
    with ExitStack() as stack:
        if store is None:
            root = Path(stack.enter_context(TemporaryDirectory(prefix="skillopt-")))
        else:
            root = Path(store).parent if Path(store).name == ".skillopt" else Path(store)
            with suppress(OSError):  # the ledger says it better
                root.mkdir(parents=True, exist_ok=True)
        drivers = load_drivers(settings, suite, root, given, optimizer=optimizer)
        _check_verifiers(suite, drivers)
        yield _Session(root, stack.enter_context(closing(Ledger.open(root))), drivers, settings)


def _check_verifiers(suite: Suite, drivers: Drivers) -> None:
    for _, task in suite.splits:
        try:
            verifier = drivers.verifier(task.verifier)
        except SuiteError as error:
            own = "" if task.verifier.kind in VERIFIERS else "; a kind of your own is passed as verifiers={'KIND': …}"
            raise SuiteError(f"task {task.id!r}: {error}{own}") from error
        if not hasattr(verifier, "score"):
            raise UsageError(f"expected a verifier of kind {task.verifier.kind!r} with score, found {shown(verifier)}")


def _expect_named(settings: Settings, given: Given, *, optimizer: bool) -> None:
    """Refuse a call that names no target or no optimizer model: the demo is never used in silence."""
    wanted = [("harness", given.harness, "claude-code"), ("model", given.model, "anthropic/MODEL")]
    for role, found, example in wanted if optimizer else wanted[:1]:
        if found is None and role not in settings.model_fields_set:
            raise UsageError(
                f'expected a {role}, found none; pass {role}="{example}", an object of your own, or "demo", the '
                "offline stand-in"
            )


class _Events(RunObserver):
    def __init__(self, on_event: Callable[[Event], None] | None = None) -> None:
        self._on_event = on_event

    def event(self, event: Event) -> None:
        if self._on_event is not None:
            self._on_event(event)

    def notice(self, text: str) -> None:
        _LOG.warning(text)
