"""The Python API: train, evaluate and compare skills in this process, without a project and without git.

Models, harnesses and verifiers are named as on the command line, or are objects of your own that satisfy the
protocols in `skillopt.protocols`. A call imports what it needs, so `import skillopt` stays quick.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.protocols import Harness, Model, VerifierFactory
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.folder import read_skill
from skillopt.tasks import Split, Suite

if TYPE_CHECKING:
    from skillopt.execution.calls import CompareResult, EvaluateResult, OptimizeResult
    from skillopt.loop.events import Event


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
    on_event: "Callable[[Event], None] | None" = None,
    **options: object,
) -> "OptimizeResult":
    """Train a skill on a suite of tasks.

    The same call with the same store resumes an interrupted run; cached answers are not paid for again.

    Args:
        skill: The text to start from; it is not changed.
        suite: The tasks, with splits (`train` for evidence, `val` for the gate, `test` held out), or few that do both.
        harness: Runs the target: an object, or a name such as "claude-code"; None takes the one in `settings`.
        model: The optimizer model: an object, or a name such as "anthropic/MODEL"; None takes the one in `settings`.
        judge: Judges tasks with a rubric; None takes the one in `settings`, else the optimizer model.
        verifiers: Your own verifiers by kind, the name in `VerifierSpec.kind`.
        settings: Several settings at once, as an object or a mapping.
        store: Folder whose `.skillopt/ledger.db` keeps all answers; None keeps nothing after the call.
        on_event: Called with each event after it is recorded.
        **options: Single settings by name, such as `max_rollouts=40` or `seed=1`; they override `settings`.

    Raises:
        UsageError: An argument or a setting is missing or wrong; nothing was spent.
        InfrastructureError: A provider, a disk or a verifier failed; with a store, the same call resumes.

    Source: the published loop is SkillOpt, arXiv:2605.23904 (preset `paper`); what the default does beyond it is
    measured in benchmarks/ABLATIONS.md.
    """
    from skillopt.execution import calls  # noqa: PLC0415 - twice the time of `import skillopt`

    chosen = calls.CallOptions(harness, model, judge, verifiers, settings=settings, store=store, named=options)
    return calls.train_skill(skill, suite, chosen, on_event)


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
    **options: object,
) -> "EvaluateResult":
    """Run a skill on the tasks of one split.

    Args:
        skill: The skill to evaluate; None runs the target without a skill.
        suite: The tasks.
        split: Which tasks to run. Each look at `test` makes it worth less.
        repeats: Runs of each task, ≥ 1.
        harness: As in `optimize`.
        judge: As in `optimize`.
        verifiers: As in `optimize`.
        settings: As in `optimize`; caps, `workers`, `coverage` and `judge` matter here.
        store: As in `optimize`.
        **options: As in `optimize`.

    Raises:
        UsageError: An argument or a setting is missing or wrong; nothing was spent.
        InvalidMeasurementError: Too few tasks could be measured.
        InfrastructureError: A provider, a disk or a verifier failed, or a cap was reached; with a store, the same
            call resumes.
    """
    from skillopt.execution import calls  # noqa: PLC0415 - as in optimize

    chosen = calls.CallOptions(harness, None, judge, verifiers, settings=settings, store=store, named=options)
    _, (measured,) = calls.measure_skills([("skill", skill)], suite, split, repeats, chosen)
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
    **options: object,
) -> "CompareResult":
    """Run two skills on the same tasks and test whether the second one is better.

    Args:
        before: The skill to beat; None is the target without a skill.
        after: The skill that should be better.
        suite: The tasks of both.
        split: Which tasks to run. Each look at `test` makes it worth less.
        repeats: Runs of each task, ≥ 1. They are averaged within the task, which is the unit of the test.
        harness: As in `optimize`.
        judge: As in `optimize`.
        verifiers: As in `optimize`.
        settings: As in `optimize`; `metric` names the score to compare, `confidence` the level that `accept` needs.
        store: As in `optimize`.
        **options: As in `optimize`.

    Raises:
        UsageError: An argument or a setting is missing or wrong; nothing was spent.
        InvalidMeasurementError: Too few tasks could be measured for both.
        InfrastructureError: A provider, a disk or a verifier failed, or a cap was reached; with a store, the same
            call resumes.

    Source: an exact one-sided sign-flip (permutation) test of the paired differences, Fisher 1935.
    """
    from skillopt.execution import calls  # noqa: PLC0415 - as in optimize

    chosen = calls.CallOptions(harness, None, judge, verifiers, settings=settings, store=store, named=options)
    named = [("before", before), ("after", after)]
    scoring, (first, second) = calls.measure_skills(named, suite, split, repeats, chosen)
    return calls.CompareResult(first, second, scoring.compare(first, second))
