"""The command `optimize`: its options, and its result as text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

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
    VerboseOption,
    WorkersOption,
    flags_of,
    select,
)
from skillopt.cli.output import SHORT, format_usage, interruptible, show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.commands.optimize import Optimized

__all__ = ["optimize"]

_TESTED: Final = {
    "accept": "shown to be better",
    "reject": "no better",
    "inconclusive": "these tasks do not tell",
    "invalid": "too little was measured",
}


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
    verbose: VerboseOption = False,
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
    with interruptible(), ProgressObserver(quiet=quiet, verbose=verbose) as observer:
        found = run(select(skill, suite, flags), start=start, observer=observer)
    show(found, _text, as_json=as_json)


def _text(result: "Optimized") -> str:
    head = (
        f"{'continued' if result.resumed else 'ran'} {result.run} on {result.skill}: {escape_terminal(result.reason)}"
    )
    return "\n".join([head, *_gained(result), *_draft(result), *_used(result), *_next(result)])


def _gained(result: "Optimized") -> Iterator[str]:
    """Say what was gained, or why nothing was accepted."""
    from skillopt.reports.length_limits import count_noun

    if not result.versions:
        yield f"no version was accepted: {escape_terminal(result.why_nothing)}"
        return
    if result.headline is not None:
        yield f"gained: {result.headline.words}"
    test = result.test
    if test is not None:
        verdict, found = test.verdict, _TESTED[test.verdict.outcome.value]
        yield f"held-out test: {found}; {verdict.wins} better, {verdict.ties} equal, {verdict.losses} worse"
    elif result.withheld:
        yield f"not tested on held-out tasks: {result.withheld}"
    made = count_noun(len(result.versions), "version")
    yield f"{made} on branch {result.branch}, newest {result.versions[-1][:SHORT]}"


def _draft(result: "Optimized") -> Iterator[str]:
    """Say what is in the draft, and what was shown of it."""
    from skillopt.gate.grade_words import grade_words

    draft = result.draft
    if draft is not None and draft.commit:
        passed = f"{result.draft_headline.words}, " if result.draft_headline else ""
        yield f"draft on branch {draft.branch}: {passed}{grade_words(draft.grading)}"
    elif draft is not None:
        yield f"the draft was not published: {escape_terminal(draft.note)}"


def _used(result: "Optimized") -> Iterator[str]:
    yield (
        f"asked: {result.rollouts} rollouts, {result.calls} optimizer calls; "
        f"newly run: {result.paid_rollouts} rollouts, {result.paid_calls} calls, the rest was recorded"
    )
    for role, usage in result.spent.items():
        yield f"spent by the {role}: {format_usage(usage)}"


def _next(result: "Optimized") -> Iterator[str]:
    """Give the one command to go on with."""
    skill = result.skill
    if result.draft is not None and result.draft.commit:
        yield f"next: skillopt take {skill}    (makes the draft a version; read it first: skillopt diff {skill} draft)"
    elif result.versions:
        yield f"next: git merge {result.branch}    (read it first: skillopt diff {skill})"
    else:
        yield f"next: skillopt report {result.run}    (every edit, and what became of it)"
