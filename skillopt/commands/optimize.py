"""The command `optimize`: its options, and its result as text."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

import typer

from skillopt.commands.options import (
    JsonOption,
    QuietOption,
    RunOptions,
    SkillArgument,
    StartOption,
    YesOption,
    with_run_options,
)
from skillopt.commands.output import (
    SHORT,
    as_json_text,
    draft_lines,
    fold_lines,
    interruptible,
    news_of_run,
    used_lines,
)
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import ask_to_train
from skillopt.runs.training import Optimized
from skillopt.runs.training import optimize as train
from skillopt.safety.escaping import count_noun, escape_terminal
from skillopt.storage.locks import mark_reported

_TESTED: Final = {
    "accept": "shown to be better",
    "reject": "not better",
    "inconclusive": "inconclusive on these tasks",
    "invalid": "too few tasks could be measured",
}


@with_run_options
def optimize(
    skill: SkillArgument = None,
    *,
    options: RunOptions,
    start: StartOption = "auto",
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train the skill, or continue a run.

    The same command continues an interrupted run; cached results are never paid for again. The first run that costs
    money asks on a terminal; without a terminal a paid run needs a cap or --yes.
    """
    selection = options.select(skill)
    ask_to_train(selection, yes=yes, quiet=quiet)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        found = train(selection, start=start, observer=observer)
    made = (*found.versions, *([found.draft.commit] if found.draft and found.draft.commit else []))
    news, shown = news_of_run(selection, made)
    typer.echo(as_json_text(asdict(found) | news) if as_json else fold_lines("\n".join(_text(found, shown))))
    mark_reported(selection.project().root, found.run)


def _text(result: Optimized, news: Sequence[str]) -> Iterator[str]:
    skill, draft = result.skill, result.draft
    ended = f"{'continued and ' if result.resumed else ''}{'stopped' if result.capped else 'finished'}"
    yield f"Run {result.run} {ended}: {escape_terminal(result.reason)}"
    yield from _gained(result)
    if draft is not None:
        passed = f"{result.draft_headline.words}; " if result.draft_headline else ""
        yield from draft_lines(draft, passed)
    yield from news
    yield from used_lines(result.spent, (result.rollouts, result.paid_rollouts))
    if draft is not None and draft.offered and (not result.versions or (draft.grading and draft.grading.requested)):
        yield f"next: skillopt take {skill}    (makes it a version; review it first: skillopt diff {skill} draft)"
    elif result.versions:
        yield f"next: git merge {result.branch}    (review it first: skillopt diff {skill})"
    else:
        yield f"next: skillopt report {result.run}    (every edit and its outcome)"


def _gained(result: Optimized) -> Iterator[str]:
    """Return what was gained, or why nothing was accepted."""
    if not result.versions:
        shown = result.draft_headline is not None and result.draft_headline.words in result.why_nothing
        why = "" if shown or result.why_nothing in result.reason else f": {escape_terminal(result.why_nothing)}"
        yield f"No version accepted{why}. The skill is unchanged."
        return
    if result.headline is not None:
        yield f"gained: {result.headline.words}"
    if result.test is not None:
        yield f"held-out test: {_TESTED[result.test.verdict.outcome.value]}"
    elif result.withheld:
        yield f"no held-out test: {result.withheld}"
    made = count_noun(len(result.versions), "version")
    yield f"{made} on branch {result.branch}, newest {result.versions[-1][:SHORT]}"
