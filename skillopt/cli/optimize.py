"""The command `optimize`: its options, and its result as text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from skillopt.cli.options import (
    CallsOption,
    HarnessOption,
    JsonOption,
    MinutesOption,
    ModelOption,
    PresetOption,
    QuietOption,
    RolloutsOption,
    SandboxOption,
    SeedOption,
    SetOption,
    SkillArgument,
    StartOption,
    SuiteOption,
    TokensOption,
    UsdOption,
    WorkersOption,
    flags_of,
    select,
)
from skillopt.cli.output import format_usage, interruptible, show

if TYPE_CHECKING:
    from skillopt.commands.optimize import Optimized

__all__ = ["optimize"]


def optimize(
    skill: SkillArgument = None,
    *,
    suite: SuiteOption = None,
    preset: PresetOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    harness: HarnessOption = None,
    sandbox: SandboxOption = None,
    model: ModelOption = None,
    max_rollouts: RolloutsOption = None,
    max_calls: CallsOption = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_minutes: MinutesOption = None,
    start: StartOption = "auto",
    settings: SetOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train the skill, or go on with a run.

    The same command continues a run that was interrupted; recorded answers are never paid for again.
    """
    from skillopt.cli.progress import ProgressObserver
    from skillopt.commands.optimize import optimize as run

    flags = flags_of(
        settings,
        preset=preset,
        seed=seed,
        workers=workers,
        harness=harness,
        sandbox=sandbox,
        model=model,
        max_rollouts=max_rollouts,
        max_calls=max_calls,
        max_usd=max_usd,
        max_tokens=max_tokens,
        max_minutes=max_minutes,
    )
    with interruptible(), ProgressObserver(quiet=quiet, max_rollouts=max_rollouts or 0) as observer:
        found = run(select(skill, suite, flags), start=start, observer=observer)
    show(found, _text, as_json=as_json)


def _text(result: "Optimized") -> str:
    lines = [f"{'continued' if result.resumed else 'ran'} {result.run} on {result.skill}: {result.reason}"]
    if result.test is None:
        kept = f"{len(result.versions)} versions on branch {result.branch}, not tested"
        kept += f": {result.withheld}" if result.withheld else ""
        lines.append(kept if result.versions else "no version was accepted; the skill is as it was")
    else:
        test = result.test
        lines.append(f"held-out test score: {test.before.score:.3f} -> {test.after.score:.3f}")
        lines.append(f"held-out test passed: {test.before.passed:.0%} -> {test.after.passed:.0%}")
        lines.append(f"test verdict: {test.verdict.outcome.value}, {test.verdict.reason}")
        lines.append(f"{len(result.versions)} versions on branch {result.branch}, newest {result.versions[-1][:10]}")
    lines.append(
        f"asked: {result.rollouts} rollouts, {result.calls} optimizer calls; "
        f"newly run: {result.paid_rollouts} rollouts, {result.paid_calls} calls, the rest was recorded"
    )
    lines += [f"spent by the {role}: {format_usage(usage)}" for role, usage in result.spent.items()]
    return "\n".join([*lines, *_next(result)])


def _next(result: "Optimized") -> Iterator[str]:
    """Say where the draft is and what was shown of it, and the commands to go on with."""
    from skillopt.gate.grade_words import grade_words

    skill, draft = result.skill, result.draft
    if draft is not None and draft.commit:
        yield f"draft on branch {draft.branch}, {grade_words(draft.grading)}"
        yield f"next: skillopt diff {skill} draft; to make it a version: skillopt take {skill}"
    elif draft is not None:
        yield f"the draft was not published: {draft.note}"
    if result.versions:
        yield f"look further: skillopt log {skill}; skillopt diff {skill}; skillopt report {result.run}"
