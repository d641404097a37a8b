"""The Python API: train, evaluate and compare skills in this process, without a project and without git.

Models, harnesses and verifiers are named as on the command line, or are objects of your own that satisfy the
protocols in `skillopt.protocols`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from skillopt.errors import UsageError
from skillopt.execution.metering import expect
from skillopt.execution.recording import Recording, check_cap, earlier_looks
from skillopt.execution.results import (
    CompareResult,
    EvaluateResult,
    OptimizeResult,
    open_session,
    own_drivers,
    settings_of,
)
from skillopt.gate.error_budget import ErrorSpent
from skillopt.loop.events import Event, VersionAccepted
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.optimizer import train
from skillopt.loop.release_check import Released
from skillopt.loop.siblings import Sibling
from skillopt.protocols import Harness, Model, VerifierFactory
from skillopt.sandbox.processes import shell_problem
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import read_skill
from skillopt.skills.validation import check_trainable
from skillopt.storage.locks import writer_lock
from skillopt.tasks import Split, Suite, Task

__all__ = ["compare", "evaluate", "load_skill", "optimize", "run_training"]


def load_skill(folder: Path | str) -> Skill:
    """Read a skill folder.

    Args:
        folder: The folder that holds SKILL.md.

    Raises:
        SkillError: The folder or its SKILL.md is missing or cannot be read, or is over a limit.
    """
    return read_skill(Path(folder))


def optimize(
    skill: Skill,
    suite: Suite,
    *,
    harness: Harness | str | None = None,
    model: Model | str | None = None,
    judge: Model | str | None = None,
    verifiers: Mapping[str, VerifierFactory] | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    store: Path | str | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> OptimizeResult:
    """Train a skill on a suite of tasks.

    The same call with the same store goes on with a run that was interrupted; what is recorded is not paid for again.

    Args:
        skill: Where training starts; it is not changed.
        suite: Tasks in three splits: `train` is evidence for edits, `val` decides, `test` is held out.
        harness: Runs the target: an object, or a name as in `claude-code`; None for the one that `settings` names.
        model: The optimizer model: an object, or a name as in `anthropic/MODEL`; None as above.
        judge: Judges tasks with a rubric; None for the one that `settings` names, else the optimizer model.
        verifiers: Own kinds of verifiers, which tasks name in `VerifierSpec.kind`.
        settings: All that shapes the run, its caps in US dollars, tokens and minutes among it.
        store: Folder that keeps what was run, in `.skillopt/ledger.db`; None keeps nothing after the call.
        on_event: Called with each event once it is recorded.

    Raises:
        UsageError: Something is missing or wrong; nothing was spent.
        InfrastructureError: A provider, a disk or a verifier failed; with a store, the same call continues.

    Source: the published loop is SkillOpt, arXiv:2605.23904 (preset `paper`); what the default does beyond it is
    measured in benchmarks/ABLATIONS.md.
    """
    check_trainable(expect(Skill, skill, "read one with load_skill"))
    chosen = settings_of(settings, harness=harness, model=model, judge=judge)
    given = own_drivers(harness, model, judge, verifiers)
    suite = suite if given.harness else expect(Suite, suite, "read one with load_suite").spread(chosen.targets)
    with open_session(store, chosen, suite, given, optimizer=True) as session, writer_lock(session.root, skill.name):
        check_cap(suite, chosen)
        recording, resumed = session.begin(skill, suite, on_event)
        released = Released(skill, earlier_looks(session.ledger, recording.record, skill.digest))
        return run_training(recording, suite, released, resumed=resumed)


def run_training(
    recording: Recording,
    suite: Suite,
    released: Released,
    *,
    spent: Sequence[ErrorSpent] = (),
    refused: Sequence[PeoplesRefusal] = (),
    siblings: Sequence[Sibling] = (),
    resumed: bool = False,
) -> OptimizeResult:
    """Train as recorded: the part that the API and the command `optimize` share.

    Args:
        recording: The run.
        suite: Its tasks.
        released: What the last version is compared with on `test`.
        spent: Error that earlier runs of the skill spent on the same `val` tasks.
        refused: Edits that people refused in earlier versions or drafts.
        siblings: Skills whose tasks no version may lower.
        resumed: Whether the run goes on.

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
            released,
            spent,
            raised=recording.raised,
            refused=refused,
            siblings=siblings,
            shell_problem=shell_problem,
        )
    )
    texts = [event.text for event in events if isinstance(event, VersionAccepted)]
    return OptimizeResult(
        recording.record.id,
        skill.with_document(SkillDocument(texts[-1])) if texts else skill,
        ended.reason,
        tuple(events),
        ended.rollouts,
        ended.calls,
        runner.paid_rollouts,
        runner.paid_calls,
        resumed,
        recording.drivers.meter.by_role,
    )


def evaluate(
    skill: Skill | None,
    suite: Suite,
    *,
    split: Split | str = Split.VAL,
    repeats: int = 1,
    harness: Harness | str | None = None,
    judge: Model | str | None = None,
    verifiers: Mapping[str, VerifierFactory] | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    store: Path | str | None = None,
) -> EvaluateResult:
    """Run a skill on the tasks of one split.

    Args:
        skill: What is evaluated; None for the target without a skill.
        suite: Its tasks.
        split: Which tasks; every look at `test` makes it worth less.
        repeats: Runs of each task, ≥ 1.
        harness: As in `optimize`.
        judge: As in `optimize`.
        verifiers: As in `optimize`.
        settings: As in `optimize`; what matters here are caps, `workers`, `coverage` and `judge`.
        store: As in `optimize`.

    Raises:
        UsageError: Something is missing or wrong; nothing was spent.
        InvalidMeasurementError: Too few tasks could be measured.
        InfrastructureError: Something outside failed, or a cap was reached; with a store, the same call continues.
    """
    given = own_drivers(harness, None, judge, verifiers)
    chosen = settings_of(settings, harness=harness, judge=judge)
    with open_session(store, chosen, suite, given) as session:
        scoring = session.scoring()
        (measured,) = scoring.measure([_named("skill", skill)], _tasks(suite, split), _at_least_one(repeats))
    return measured


def compare(
    before: Skill | None,
    after: Skill | None,
    suite: Suite,
    *,
    split: Split | str = Split.VAL,
    repeats: int = 1,
    harness: Harness | str | None = None,
    judge: Model | str | None = None,
    verifiers: Mapping[str, VerifierFactory] | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    store: Path | str | None = None,
) -> CompareResult:
    """Run two skills on the same tasks and test whether the second one is better.

    Args:
        before: The one to beat; None for the target without a skill.
        after: The one that should be better.
        suite: Their tasks.
        split: Which tasks; every look at `test` makes it worth less.
        repeats: Runs of each task, ≥ 1; they are averaged inside the task, which is the unit of the test.
        harness: As in `optimize`.
        judge: As in `optimize`.
        verifiers: As in `optimize`.
        settings: As in `optimize`; `metric` says which number is compared, `confidence` what `accept` asks for.
        store: As in `optimize`.

    Raises:
        UsageError: Something is missing or wrong; nothing was spent.
        InvalidMeasurementError: Too few tasks could be measured for both.
        InfrastructureError: Something outside failed, or a cap was reached; with a store, the same call continues.

    Source: an exact one-sided sign-flip (permutation) test of the paired differences, Fisher 1935.
    """
    given = own_drivers(harness, None, judge, verifiers)
    chosen = settings_of(settings, harness=harness, judge=judge)
    with open_session(store, chosen, suite, given) as session:
        scoring = session.scoring()
        named = [_named("before", before), _named("after", after)]
        first, second = scoring.measure(named, _tasks(suite, split), _at_least_one(repeats))
        verdict = scoring.compare(first, second)
    return CompareResult(first, second, verdict)


def _named(name: str, skill: Skill | None) -> tuple[str, Skill | None]:
    return name, None if skill is None else expect(Skill, skill, "read one with load_skill")


def _tasks(suite: Suite, split: Split | str) -> Sequence[Task]:
    if split not in list(Split):
        raise UsageError(f"expected a split, one of {', '.join(Split)}, found {split!r}")
    tasks = suite.tasks_to_evaluate(Split(split))
    if not tasks:
        raise UsageError(f"expected tasks in split {str(split)!r} of suite {suite.name!r}, found none; add some")
    return tasks


def _at_least_one(repeats: int) -> int:
    if repeats < 1:
        raise UsageError(f"expected repeats ≥ 1, found {repeats!r}")
    return repeats
