"""The command `evaluate`: score skills on one split, each against the first, task by task."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final

import typer

from skillopt.commands.evaluate_all import evaluate_all
from skillopt.commands.options import (
    JsonOption,
    QuietOption,
    RepeatsOption,
    RunOptions,
    SkillArgument,
    SplitOption,
    VerboseOption,
    YesOption,
    with_run_options,
)
from skillopt.commands.output import SHORT, interruptible, show
from skillopt.commands.progress import ProgressObserver
from skillopt.errors import UsageError
from skillopt.execution.calls import ChangedTask, EvaluateResult, OutcomeChange, Scoring, changed_tasks
from skillopt.execution.drivers import Given, caps_of, load_drivers
from skillopt.execution.metering import Caps, Meter
from skillopt.figures import headline_of_verdict, passed_words, tally_passed, tally_words
from skillopt.gate.decide import Verdict
from skillopt.gate.judge_noise import judge_agreement, share_interval
from skillopt.project import Project, Selection, Target
from skillopt.reports.markdown import cited, paragraphs, print_markdown, write_table
from skillopt.reports.terminal import print_terminal
from skillopt.review.result import followed_criteria
from skillopt.runs.history import skill_at
from skillopt.runs.plan import incumbent_of
from skillopt.runs.run import open_draft
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.safety.plurals import count_noun
from skillopt.skills.document import Skill
from skillopt.skills.placebo import placebo_of
from skillopt.storage.ledger import Ledger
from skillopt.targets.chat import unopened_files
from skillopt.tasks import Split

_LONGEST_FEEDBACK: Final = 120
_MOST_CRITERIA: Final = 12

_COUNTED: Final = {"lower score": "score lower", "higher score": "score higher", "same": "unchanged"}
"""Words for tasks that neither broke nor were fixed."""


_NO_SKILL = "none"
_PLACEBO = "placebo"
_WORKTREE = "worktree"
_INCUMBENT = "incumbent"
"""What training would go on from."""


@with_run_options
def evaluate(
    skill: SkillArgument = None,
    *,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of",
            metavar="SUBJECT",
            help="worktree, incumbent, draft, none (no skill), placebo (as long, says nothing) or a version; "
            "repeat to compare.",
        ),
    ] = None,
    split: SplitOption = "val",
    repeats: RepeatsOption = 1,
    every: Annotated[
        bool, typer.Option("--all", help="With --of none: find which skills help, hurt or lie idle, each on its tasks.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a dated record as Markdown, to be committed beside the skill.")
    ] = False,
    options: RunOptions,
    yes: YesOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score the skill, a version, or no skill.

    With several subjects, each is compared with the first: what broke, what was fixed. With several harnesses, a table
    has a row for each subject and a column for each target.

    With --all each skill of the project is compared with no skill on its own tasks: it helps, hurts, is idle (removing
    it loses less than a margin of the tasks passed), or the tasks cannot tell. In at most 10% of these comparisons a
    skill is said to help or hurt that does not.
    """
    if every and (skill or options.suite or of != [_NO_SKILL]):
        raise UsageError("--all: expected --of none, and no skill or suite, found others; leave them out")
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        if every:
            rows = evaluate_all(options.select(None).flags, Split(split), repeats, observer, yes=yes)
            show(rows, lambda found: "\n".join(map(str, found)), as_json=as_json)
            return
        found = _evaluate(options.select(skill), of or [_WORKTREE], Split(split), repeats, observer)
    show(found, _markdown if markdown else partial(_text, verbose=verbose), as_json=as_json)


def _evaluate(
    selection: Selection, subjects: Sequence[str], split: Split, repeats: int, observer: ProgressObserver
) -> dict[str, Any]:
    """Score skills on a split."""
    project = selection.project()
    target = project.target(selection)
    suite, settings = target.suite(), target.settings
    named = [(subject, _skill(project, target, subject)) for subject in subjects]
    # A cap on rollouts in skillopt.toml is on training; one that is given with the command is on the command.
    most = settings.max_rollouts if "max_rollouts" in selection.flags else None
    allowance = Meter(Caps(rollouts=most)) if most else None
    given = Given(meter=Meter(caps_of(settings)), allowance=allowance)
    drivers = [load_drivers(one, suite, project.root, given, optimizer=False) for one in settings.by_target]
    with closing(Ledger.open(project.root)) as ledger:
        unopened = (unopened_files(settings.targets, skill) for _, skill in named if skill is not None)
        for said in filter(None, dict.fromkeys((suite.left_out, *unopened))):
            observer.notice(said)
        scorings = [Scoring(ledger, one, settings, observer) for one in drivers]
        measured = [one.measure(named, suite.tasks_to_evaluate(split), repeats) for one in scorings]
    compared = [_against_first(scoring, own) for scoring, own in zip(scorings, measured, strict=True)]
    several = {
        "targets": [{"target": name, "subjects": own} for name, own in zip(settings.targets, compared, strict=True)]
    }
    return {
        "skill": target.name,
        "split": split.value,
        "repeats": repeats,
        **({"subjects": compared[0]} if len(compared) == 1 else several),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "suite": suite.digest,
        "identities": [one.target_identity for one in drivers],
        "paid_rollouts": sum(one.paid_rollouts for one in scorings),
        "metric": settings.metric.value,
        "judge": judge_agreement(rollout for own in measured for one in own for rollout in one.rollouts),
    }


def _against_first(scoring: Scoring, measured: Sequence[EvaluateResult]) -> list[dict[str, Any]]:
    first, *others = measured
    return [_compared(first, first, None), *(_compared(first, own, scoring.compare(first, own)) for own in others)]


def _compared(first: EvaluateResult, own: EvaluateResult, verdict: Verdict | None) -> dict[str, Any]:
    return {
        "name": own.name,
        "digest": own.digest,
        "tally": own.tally,
        "against_first": verdict,
        "headline": headline_of_verdict(verdict) if verdict else None,
        "changed": changed_tasks(verdict, first.rollouts, own.rollouts) if verdict else (),
        "followed": followed_criteria(first.rollouts, own.rollouts),
    }


def _skill(project: Project, target: Target, subject: str) -> Skill | None:
    if subject == _NO_SKILL:
        return None
    if subject == _PLACEBO:
        return placebo_of(target.skill())
    if subject == _WORKTREE:
        return target.skill()
    if subject == _INCUMBENT:
        return incumbent_of(target, project.repository())
    return skill_at(open_draft(project.root, project.repository(), target), subject)


def _text(result: Mapping[str, Any], *, verbose: bool) -> str:
    runs = f"{count_noun(result['repeats'], 'repeat')} a task, {count_noun(result['paid_rollouts'], 'new rollout')}"
    lines = [f"{result['skill']} on {result['split']}, {runs}"]
    targets = result.get("targets", [])
    lines += [print_terminal(_matrix(targets))] if targets else []
    for one in targets or [result]:
        lines += [f"with {escape_terminal(one['target'])}"] if targets else []
        subjects = one["subjects"]
        for subject in subjects:
            lines += _subject(subject, subjects[0]["name"], verbose=verbose)
        lines += _worth(subjects)
    lines += [result["judge"].words] if result["judge"] else []
    return "\n".join(lines)


def _worth(subjects: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what the content of a skill is worth, and what its mere presence, where all three were measured."""
    passed = {one["name"]: one["tally"].passed * one["tally"].measured for one in subjects}
    skills = [one for one in subjects if one["name"] not in (_NO_SKILL, _PLACEBO)]
    if skills and {_NO_SKILL, _PLACEBO} <= passed.keys():
        content = passed[skills[-1]["name"]] - passed[_PLACEBO]
        presence = passed[_PLACEBO] - passed[_NO_SKILL]
        tasks = skills[-1]["tally"].measured
        yield f"the skill's content is worth {passed_words(content, tasks)} tasks, its presence {presence:.3g}"


def _markdown(result: Mapping[str, Any]) -> str:
    """Write a dated record, to be committed beside the skill and compared with the next one."""
    named = zip(result["identities"], result.get("targets", [result]), strict=True)
    targets = [{"target": name, "subjects": one["subjects"]} for name, one in named]
    digests = (f"{cited(one['name'])} {one['digest'][:SHORT]}" for one in targets[0]["subjects"] if one["digest"])
    told = f"Suite {result['suite'][:SHORT]}, {result['repeats']} runs a task, texts {', '.join(digests)}."
    worth = [f"{line[0].upper()}{line[1:]}." for one in targets for line in _worth(one["subjects"])]
    title = f"## {result['skill']} on {result['split']}, {result['at'][:10]}"
    return print_markdown(paragraphs(title, told, _matrix(targets), *worth))


def _matrix(targets: Sequence[Mapping[str, Any]]) -> str:
    """Write tasks passed, with the 95% interval of their share, by subject and target."""
    rows = []
    for subjects in zip(*(one["subjects"] for one in targets), strict=True):
        tallies = [one["tally"] for one in subjects]
        limits = [share_interval(one.passed, max(1, one.measured)) for one in tallies]
        cells = (
            f"{tally_passed(one)} ({low:.0%} to {high:.0%})" for one, (low, high) in zip(tallies, limits, strict=True)
        )
        rows.append((cited(subjects[0]["name"]), *cells))
    return write_table(("tasks passed", *(cited(one["target"]) for one in targets)), rows)


def _subject(subject: Mapping[str, Any], first: str, *, verbose: bool) -> Iterator[str]:
    """Write a subject: tasks passed first, then the tasks that changed, then what the comparison says."""
    tally, verdict = subject["tally"], subject["against_first"]
    missing = f", {tally.missing} not measured" if tally.missing else ""
    yield f"{subject['name']}: {tally_words(tally)}{missing}"
    if verdict is None:
        return
    if subject["headline"] is not None:
        yield f"  {first} → {subject['name']}: {subject['headline'].words}"
    yield from _changed(subject["changed"], verbose=verbose)
    yield from (f"  {escape_terminal(str(one))}" for one in subject["followed"][:_MOST_CRITERIA])


def _changed(tasks: Sequence[ChangedTask], *, verbose: bool) -> Iterator[str]:
    """List regressions, then what was fixed; the others are counted unless all is asked for."""
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
    line = truncate(" ".join(feedback.split()), _LONGEST_FEEDBACK)
    return f": {escape_terminal(line)}" if line else ""
