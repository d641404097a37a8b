"""What the calls of the Python API do: open a session, train, measure and compare."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel

from skillopt.errors import SettingsError, UsageError
from skillopt.execution.drivers import Given
from skillopt.execution.metering import expect, shown
from skillopt.execution.recording import Recording
from skillopt.execution.records import earlier_looks
from skillopt.execution.results import (
    CompareResult,
    EvaluateResult,
    OptimizeResult,
    Scoring,
    open_session,
)
from skillopt.gate.error_budget import ErrorSpent
from skillopt.loop.events import Event, VersionAccepted
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.optimizer import train
from skillopt.loop.release_check import Released
from skillopt.loop.rollout_plan import least_rollouts
from skillopt.protocols import Harness, Model, VerifierFactory
from skillopt.sandbox.processes import shell_problem
from skillopt.settings import PresetConstants, Settings, make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.validation import check_trainable
from skillopt.storage.locks import writer_lock
from skillopt.tasks import Split, Suite
from skillopt.verifiers import VERIFIERS


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
        _check_kinds(verifiers)
        return Given(harness, model, judge, verifiers)


def _check_kinds(verifiers: Mapping[str, VerifierFactory]) -> None:
    if not isinstance(verifiers, Mapping):
        raise UsageError(f"expected verifiers by their kind, found {shown(verifiers)}; pass {{'my-kind': MyVerifier}}")
    for kind, factory in verifiers.items():
        if kind in VERIFIERS:
            raise UsageError(f"expected a kind of verifier that is not built in, found {kind!r}; choose another name")
        if not callable(factory):
            raise UsageError(
                f"expected what makes a verifier of kind {kind!r} of its VerifierSpec, found {shown(factory)}; pass "
                "its class or a function"
            )


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
    expect(Suite, suite, "read one with load_suite")
    with (
        open_session(options.store, chosen, suite, given, optimizer=True) as session,
        writer_lock(session.root, skill.name),
    ):
        least, most = least_rollouts(suite, chosen), chosen.max_rollouts
        if most is not None and most < least:  # no candidate could ever be gated
            needed = f"expected max_rollouts of at least {least} (baseline, one batch, one gate)"
            raise SettingsError(f"{needed}, found {most}; raise it")
        recording, resumed = session.begin(skill, suite, on_event)
        released = Released(skill, earlier_looks(session.ledger, recording.record, skill.digest))
        return replace(run_training(recording, suite, released), resumed=resumed)


def run_training(
    recording: Recording,
    suite: Suite,
    released: Released,
    *,
    spent: Sequence[ErrorSpent] = (),
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
            raised=recording.raised,
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
    with open_session(options.store, options.chosen, suite, options.given) as session:
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
        scoring = session.scoring()
        return scoring, scoring.measure(named, tasks, repeats)


def compare_skills(
    before: Skill | None, after: Skill | None, suite: Suite, split: Split | str, repeats: int, options: CallOptions
) -> CompareResult:
    """Measure two texts on the same tasks, and test the second against the first."""
    named = [("before", before), ("after", after)]
    scoring, (first, second) = measure_skills(named, suite, split, repeats, options)
    return CompareResult(first, second, scoring.compare(first, second))
