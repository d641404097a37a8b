"""The command `evaluate`: its options, and its result as text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from skillopt.commands.options import (
    JsonOption,
    QuietOption,
    RepeatsOption,
    RunOptions,
    SkillArgument,
    SplitOption,
    VerboseOption,
    with_run_options,
)
from skillopt.commands.output import interruptible, show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.actions.evaluate import Evaluated, Subject
    from skillopt.gate.changed_tasks import ChangedTask

__all__ = ["evaluate"]

_LONGEST_FEEDBACK: Final = 120

_COUNTED: Final = {"lower score": "score lower", "higher score": "score higher", "same": "unchanged"}
"""Words for tasks that neither broke nor were fixed."""


@with_run_options
def evaluate(
    skill: SkillArgument = None,
    *,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of",
            metavar="SUBJECT",
            help="worktree, incumbent, draft, none (no skill) or a version; repeat to compare.",
        ),
    ] = None,
    split: SplitOption = "val",
    repeats: RepeatsOption = 1,
    options: RunOptions,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score the skill, a version, or no skill.

    With several subjects, each is compared with the first: what broke, what was fixed.
    """
    from skillopt.actions.evaluate import evaluate as run
    from skillopt.commands.progress import ProgressObserver
    from skillopt.tasks import Split

    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        subjects = tuple(of or ["worktree"])
        found = run(options.select(skill), subjects=subjects, split=Split(split), repeats=repeats, observer=observer)
    show(found, partial(_text, verbose=verbose), as_json=as_json)


def _text(result: "Evaluated", *, verbose: bool) -> str:
    from skillopt.gate.headline import metric_label
    from skillopt.safety.plurals import count_noun

    runs = f"{count_noun(result.repeats, 'repeat')} a task, {count_noun(result.paid_rollouts, 'rollout')} newly run"
    lines = [f"{result.skill} on {result.split}, {runs}"]
    for subject in result.subjects:
        lines += _subject(subject, result.subjects[0].name, metric_label(result.metric), verbose=verbose)
    lines += [result.judge.words] if result.judge else []
    return "\n".join(lines)


def _subject(subject: "Subject", first: str, metric: str, *, verbose: bool) -> Iterator[str]:
    """Write a subject: tasks passed first, then the tasks that changed, then what the comparison says."""
    from skillopt.gate.headline import tally_words

    tally, verdict = subject.tally, subject.against_first
    missing = f", {tally.missing} not measured" if tally.missing else ""
    yield f"{subject.name}: {tally_words(tally)}{missing}"
    if verdict is None:
        return
    if subject.headline is not None:
        yield f"  {first} → {subject.name}: {subject.headline.words}"
    yield from _changed(subject.changed, verbose=verbose)
    yield (
        f"  gain in {metric} {verdict.gain:+.3f}: {verdict.wins} better, {verdict.ties} equal, {verdict.losses} worse, "
        f"confidence {verdict.confidence:.2f}"
    )


def _changed(tasks: "Sequence[ChangedTask]", *, verbose: bool) -> Iterator[str]:
    """List regressions, then what was fixed; the others are counted unless all is asked for."""
    from skillopt.gate.changed_tasks import OutcomeChange

    shown = set(OutcomeChange) if verbose else {OutcomeChange.BROKEN, OutcomeChange.FIXED}
    for one in tasks:
        if one.change in shown:
            said = _said(one.feedback) if one.passed_after < 1 else ""
            passed = f"passed {one.passed_before:.0%} → {one.passed_after:.0%}, "
            score = f"score {one.score_before:.2f} → {one.score_after:.2f}"
            yield f"  {one.change.value} {escape_terminal(one.task)}: {passed}{score}{said}"
    counts = Counter(one.change for one in tasks if one.change not in shown)
    if counts:
        found = ", ".join(f"{counts[change]} {_COUNTED[change]}" for change in OutcomeChange if counts[change])
        yield f"  others: {found} (-v lists them)"


def _said(feedback: str) -> str:
    """Return a line of feedback."""
    line = " ".join(feedback.split())
    cut = line if len(line) <= _LONGEST_FEEDBACK else f"{line[:_LONGEST_FEEDBACK]} …"
    return f": {escape_terminal(cut)}" if line else ""
