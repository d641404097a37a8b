"""Calls of the Python API: what one works with, what it does (train, measure, compare), and what it gives back."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel

from skillopt.errors import SettingsError, SuiteError, UsageError
from skillopt.execution.drivers import Drivers, Given, load_drivers
from skillopt.execution.metering import expect, shown
from skillopt.execution.recording import Recording, config_of, record_of
from skillopt.execution.records import earlier_looks
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.figures import Headline, headline_of_verdict
from skillopt.gate.comparison import Pairs, Tally, check_coverage, compare, expect_measured, tally
from skillopt.gate.decide import Question, Verdict, decide
from skillopt.loop.caps import least_rollouts
from skillopt.loop.decision import Released
from skillopt.loop.events import (
    DraftChanged,
    DraftGraded,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    ReleaseCheckWithheld,
    VersionAccepted,
    gained_by_run,
    newest_draft,
)
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.optimizer import train
from skillopt.protocols import Harness, Model, RolloutRequest, VerifierFactory
from skillopt.rollouts import Rollout, Usage
from skillopt.safety.escaping import count_noun
from skillopt.sandbox.processes import shell_problem
from skillopt.settings import PresetConstants, Settings, make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.validation import check_trainable
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.tasks import Split, Suite, Task
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
        rollouts, size, measured = self._runner.rollouts(requests), len(tasks) * repeats, list[EvaluateResult]()
        for at, (name, skill) in enumerate(named):
            own = rollouts[at * size : (at + 1) * size]
            check_coverage(name, own, self._settings.coverage)
            measured.append(EvaluateResult(name, skill.digest if skill else "", tally(own), own))
        return tuple(measured)

    def compare(self, before: EvaluateResult, after: EvaluateResult) -> Verdict:
        """Compare two skills task by task, asking for confidence."""
        pairs, settings = Pairs(list(before.rollouts), list(after.rollouts)), self._settings
        expect_measured(after.name, pairs, settings.coverage)
        found = compare(pairs, settings.metric, settings.coverage)
        return decide(found, Question.BETTER, 1.0 - settings.confidence)


_LOG = logging.getLogger("skillopt")


@contextmanager
def open_session(
    store: Path | str | None, settings: Settings, suite: Suite, given: Given, *, optimizer: bool = False
) -> Iterator[tuple[Path, Ledger, Drivers]]:
    """Make the drivers, check what can be checked for nothing, and open the ledger."""
    expect(Suite, suite, "read one with load_suite")
    wanted = [("harness", given.harness, "claude-code"), ("model", given.model, "anthropic/MODEL")]
    for role, found, example in wanted if optimizer else wanted[:1]:  # the demo is never used in silence
        if found is None and role not in settings.model_fields_set:
            raise UsageError(
                f'expected a {role}, found none; pass {role}="{example}", an object of your own, or "demo", the '
                "offline stand-in"
            )
    with ExitStack() as stack:
        if store is None:
            root = Path(stack.enter_context(TemporaryDirectory(prefix="skillopt-")))
        else:
            root = Path(store).parent if Path(store).name == ".skillopt" else Path(store)
            with suppress(OSError):  # the ledger says it better
                root.mkdir(parents=True, exist_ok=True)
        drivers = load_drivers(settings, suite, root, given, optimizer=optimizer)
        for _, task in suite.splits:
            kind = task.verifier.kind
            try:
                verifier = drivers.verifier(task.verifier)
            except SuiteError as error:
                own = "" if kind in VERIFIERS else "; a kind of your own is passed as verifiers={'KIND': …}"
                raise SuiteError(f"task {task.id!r}: {error}{own}") from error
            if not hasattr(verifier, "score"):
                raise UsageError(f"expected a verifier of kind {kind!r} with score, found {shown(verifier)}")
        yield root, stack.enter_context(closing(Ledger.open(root))), drivers


class _Events(RunObserver):
    def __init__(self, on_event: Callable[[Event], None] | None = None) -> None:
        self._on_event = on_event

    def event(self, event: Event) -> None:
        if self._on_event is not None:
            self._on_event(event)

    def notice(self, text: str) -> None:
        _LOG.warning(text)


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What a call names besides skills and suite: drivers, settings, those of them that it names alone, its store."""

    harness: Harness | str | None
    model: Model | str | None
    judge: Model | str | None
    verifiers: Mapping[str, VerifierFactory] | None
    settings: Settings | Mapping[str, object] | None
    store: Path | str | None
    named: Mapping[str, object]

    @property
    def chosen(self) -> Settings:
        """The settings, with the drivers that are named; those that the call names alone override the others."""
        settings = {} if self.settings is None else self.settings
        given = _values(settings) if isinstance(settings, Settings) else settings
        if not isinstance(given, Mapping):
            raise UsageError(f"expected Settings, found {given!r}; pass max_usd=5 or settings=Settings(max_usd=5)")
        drivers = {"harness": self.harness, "model": self.model, "judge": self.judge}
        texts = {role: driver for role, driver in drivers.items() if isinstance(driver, str)}
        known: dict[str, object] = {}
        constants: dict[str, object] = {}
        for name, value in {**given, **self.named, **texts}.items():
            (constants if name in PresetConstants.model_fields else known)[name] = value
        return make_settings(("arguments", known)).model_copy(update=constants)

    @property
    def given(self) -> Given:
        """The drivers that are objects, checked in plain words."""
        harness = None if isinstance(self.harness, str) else self.harness
        model, judge = (None if isinstance(one, str) else one for one in (self.model, self.judge))
        for role, found, member in (("model", model, "reply"), ("judge", judge, "reply"), ("harness", harness, "run")):
            if found is not None:
                _check(role, found, ("identity", "worst_case", member))
        verifiers = {} if self.verifiers is None else self.verifiers
        if not isinstance(verifiers, Mapping):
            raise UsageError(
                f"expected verifiers by their kind, found {shown(verifiers)}; pass {{'my-kind': MyVerifier}}"
            )
        for kind, factory in verifiers.items():
            if kind in VERIFIERS:
                expected = "expected a kind of verifier that is not built in"
                raise UsageError(f"{expected}, found {kind!r}; choose another name")
            if not callable(factory):
                raise UsageError(
                    f"expected what makes a verifier of kind {kind!r} of its VerifierSpec, found {shown(factory)}; "
                    "pass its class or a function"
                )
        return Given(harness, model, judge, verifiers)


def _check(role: str, found: object, members: tuple[str, ...]) -> None:
    listed = f"expected as {role} an object with {', '.join(members)}"
    if isinstance(found, type):
        raise UsageError(f"{listed}, found the class {found.__name__}; pass an object of it")
    missing = [name for name in members if not hasattr(found, name)]
    if missing:
        raise UsageError(f"{listed}, found {shown(found)} without {', '.join(missing)}; see skillopt.protocols")
    identity = getattr(found, members[0])
    if not isinstance(identity, str) or not identity:
        raise UsageError(
            f"expected as identity of the {role} a text that names all that can change what it does, found {identity!r}"
        )


def _values(settings: BaseModel) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in settings.model_fields_set:
        value = getattr(settings, name)
        found |= _values(value) if isinstance(value, BaseModel) else {name: value}
    return found


def train_skill(
    skill: Skill, suite: Suite, options: CallOptions, on_event: Callable[[Event], None] | None
) -> OptimizeResult:
    """Train a skill, or go on with the same call's run."""
    check_trainable(expect(Skill, skill, "read one with load_skill"))
    chosen, given = options.chosen, options.given
    with (
        open_session(options.store, chosen, suite, given, optimizer=True) as (root, ledger, drivers),
        writer_lock(root, skill.name),
    ):
        least, most = least_rollouts(suite, chosen), chosen.max_rollouts
        if most is not None and most < least:  # no candidate could ever be gated
            needed = f"expected max_rollouts of at least {least} (baseline, one batch, one gate)"
            raise SettingsError(f"{needed}, found {most}; raise it")
        identities = [one.identity for one in (drivers.harness, drivers.model, drivers.judge) if one is not None]
        record = record_of(skill, suite, config_of(chosen, identities), chosen.seed)
        resumed = ledger.find_run(record.id) is not None  # the one of the same text, suite, settings and drivers
        recording = Recording(ledger, ledger.begin_run(record), drivers, chosen, _Events(on_event))
        released = Released(skill, earlier_looks(ledger, recording.record, skill.digest))
        return replace(run_training(recording, suite, released), resumed=resumed)


def run_training(
    recording: Recording,
    suite: Suite,
    released: Released,
    *,
    spent: Sequence[float] = (),
    refused: Sequence[PeoplesRefusal] = (),
) -> OptimizeResult:
    """Train as recorded; the API and the command `optimize` share it.

    Args:
        recording: The run.
        suite: Its tasks.
        released: What the last version is compared with on `test`.
        spent: Error that earlier runs of the skill spent on the same `val` tasks.
        refused: Edits that people refused in earlier versions or drafts.

    Raises:
        InfrastructureError: Something outside failed; what was measured is kept.
    """
    runner, skill = recording.runner, recording.skill
    events, ended = recording.drive(
        train(
            skill,
            suite,
            recording.settings,
            runner,
            released=released,
            spent=spent,
            refused=refused,
            shell_problem=shell_problem,
        )
    )
    texts = [event.text for event in events if isinstance(event, VersionAccepted)]
    return OptimizeResult(
        recording.record.id,
        skill.with_document(SkillDocument(texts[-1])) if texts else skill,
        ended.reason,
        tuple(events),
        rollouts=ended.rollouts,
        calls=ended.calls,
        paid_rollouts=runner.paid_rollouts,
        paid_calls=runner.paid_calls,
        usage=recording.drivers.meter.by_role,
    )


def measure_skills(
    named: Sequence[tuple[str, Skill | None]], suite: Suite, split: Split | str, repeats: int, options: CallOptions
) -> tuple[Scoring, tuple[EvaluateResult, ...]]:
    """Measure texts on the same tasks; what measured them can compare them, too."""
    chosen = options.chosen
    with open_session(options.store, chosen, suite, options.given) as (_, ledger, drivers):
        for _, skill in named:
            if skill is not None:
                expect(Skill, skill, "read one with load_skill")
        if split not in list(Split):
            raise UsageError(f"expected a split, one of {', '.join(Split)}, found {split!r}")
        tasks = suite.tasks_to_evaluate(Split(split))
        if not tasks:
            raise UsageError(f"expected tasks in split {str(split)!r} of suite {suite.name!r}, found none; add some")
        if repeats < 1:
            raise UsageError(f"expected repeats ≥ 1, found {repeats!r}")
        scoring = Scoring(ledger, drivers, chosen, _Events())
        return scoring, scoring.measure(named, tasks, repeats)
