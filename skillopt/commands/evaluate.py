"""The command `evaluate`: score skills on one split, each against the first, or each skill against none."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

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
from skillopt.commands.spending import ask_to_pay, payment_of
from skillopt.errors import InfrastructureError, UsageError
from skillopt.execution.calls import EvaluateResult, Scoring
from skillopt.execution.drivers import Given, caps_of, load_drivers
from skillopt.execution.metering import Caps, Meter, OutOfBudget
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.figures import headline_of_verdict, passed_words, tally_passed, tally_words
from skillopt.gate.comparison import Pairs, compare, first_failure
from skillopt.gate.decide import MARGINS, Question, Terms, Verdict, decide, rule_out_loss
from skillopt.gate.judge_noise import judge_agreement, share_interval
from skillopt.project import Project, Selection, Target
from skillopt.protocols import RolloutRequest
from skillopt.reports.markdown import cited, paragraphs, print_markdown, write_table
from skillopt.reports.rollouts import DifferingTask, TaskChange, find_differing_tasks
from skillopt.reports.terminal import print_terminal
from skillopt.review.result import followed_criteria
from skillopt.rollouts import Stream
from skillopt.runs.history import skill_at
from skillopt.runs.plan import incumbent_of
from skillopt.runs.run import open_draft
from skillopt.safety.escaping import count_noun, escape_terminal, truncate
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.placebo import placebo_of
from skillopt.storage.ledger import Ledger
from skillopt.targets.chat import unopened_files
from skillopt.tasks import Split, Task

_LONGEST_FEEDBACK: Final = 120  # so that a task stays on a line or two
_MOST_CRITERIA: Final = 12  # the least followed; so that a subject stays on a screen

_EFFECT_ERROR: Final = 0.1
"""Chance to say of any skill that it helps or hurts where it does not, over all skills together."""

_NO_SKILL = "none"
_PLACEBO = "placebo"


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
            rows = _evaluate_all(options.select(None).flags, Split(split), repeats, observer, yes=yes)
            show(rows, lambda found: "\n".join(map(str, found)), as_json=as_json)
            return
        found = _evaluate(options.select(skill), of or ["worktree"], Split(split), repeats, observer)
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
    tasks = suite.tasks_to_evaluate(split)
    compared = [_compared(scoring, own, tasks, settings) for scoring, own in zip(scorings, measured, strict=True)]
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


def _compared(
    scoring: Scoring, measured: Sequence[EvaluateResult], tasks: Sequence[Task], settings: Settings
) -> list[dict[str, Any]]:
    """Compare each subject with the first."""
    first, found = measured[0], []
    for own in measured:
        verdict = scoring.compare(first, own) if own is not first else None
        pairs = Pairs(list(first.rollouts), list(own.rollouts))
        found.append(
            {
                "name": own.name,
                "digest": own.digest,
                "tally": own.tally,
                "against_first": verdict,
                "headline": headline_of_verdict(verdict) if verdict else None,
                "changed": [_changed(one) for one in find_differing_tasks(tasks, pairs, settings.metric)],
                "followed": followed_criteria(first.rollouts, own.rollouts),
            }
        )
    return found


def _changed(one: DifferingTask) -> dict[str, Any]:
    """Say how a task differs, and what the verifier said of the newer run, without the rollouts."""
    (before, after), score = one.passes, one.after.score
    return {
        "task": one.task.id,
        "change": one.change,
        "passed_before": before / one.repeats,
        "passed_after": after / one.repeats,
        "score_before": one.scores[0],
        "score_after": one.scores[1],
        "feedback": "" if score is None or score.passed else score.feedback or one.after.reason,
    }


def _skill(project: Project, target: Target, subject: str) -> Skill | None:
    match subject:
        case "none":
            return None
        case "placebo":
            return placebo_of(target.skill())
        case "worktree":
            return target.skill()
        case "incumbent":  # what training would go on from
            return incumbent_of(target, project.repository())
        case _:
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
        cells = [cited(subjects[0]["name"])]
        for one in (subject["tally"] for subject in subjects):
            low, high = share_interval(one.passed, max(1, one.measured))
            cells.append(f"{tally_passed(one)} ({low:.0%} to {high:.0%})")
        rows.append(cells)
    return write_table(("tasks passed", *(cited(one["target"]) for one in targets)), rows)


def _subject(subject: Mapping[str, Any], first: str, *, verbose: bool) -> Iterator[str]:
    """Write a subject: tasks passed first, then regressions and what was fixed, and of which criteria."""
    tally = subject["tally"]
    missing = f", {tally.missing} not measured" if tally.missing else ""
    yield f"{subject['name']}: {tally_words(tally)}{missing}"
    if subject["headline"] is not None:
        yield f"  {first} → {subject['name']}: {subject['headline'].words}"
    shown = set(TaskChange) if verbose else {TaskChange.BROKEN, TaskChange.FIXED}
    for one in subject["changed"]:
        if one["change"] in shown:
            feedback = truncate(" ".join(one["feedback"].split()), _LONGEST_FEEDBACK)
            passed = f"passed {one['passed_before']:.0%} → {one['passed_after']:.0%}, "
            score = f"score {one['score_before']:.2f} → {one['score_after']:.2f}"
            said = f": {escape_terminal(feedback)}" if feedback else ""
            yield f"  {one['change']} {escape_terminal(one['task'])}: {passed}{score}{said}"
    if counts := Counter(one["change"] for one in subject["changed"] if one["change"] not in shown):
        yield f"  others: {', '.join(f'{counts[one]} {one}' for one in counts)} (-v lists them)"
    if subject["against_first"] is not None:
        yield from (f"  {escape_terminal(str(one))}" for one in subject["followed"][:_MOST_CRITERIA])


class SkillEffect(StrEnum):
    """What a skill does for its tasks, against no skill; an idle one can go, or stay, and nothing is lost."""

    HELPS = "helps"
    IDLE = "idle"
    HURTS = "hurts"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class SkillEffectRow:
    """What was found of one skill: tasks passed without it and with it, and why or what next."""

    skill: str
    effect: SkillEffect
    passed: str
    reason: str

    def __str__(self) -> str:
        return escape_terminal(f"{self.skill}: {self.effect}{self.passed and f', {self.passed}'}: {self.reason}")


def _evaluate_all(
    flags: Mapping[str, object], split: Split, repeats: int, observer: RunObserver, *, yes: bool
) -> list[SkillEffectRow]:
    """Run every skill that has tasks without and with it; what is wrong with one of them is said in its row."""
    project = Project.find(Path.cwd())
    rows, chosen, named = list[SkillEffectRow](), list[tuple[Target, list[RolloutRequest]]](), list[str]()
    for found in project.discover():
        target = project.target(Selection(found.name, flags, folder=project.root))
        try:
            skill, tasks = target.skill(), target.suite().tasks_to_evaluate(split)
        except UsageError as error:
            rows.append(SkillEffectRow(found.name, SkillEffect.CANNOT_TELL, "", str(error)))
            continue
        drawn = [(task, Stream.NO_SKILL.repeat(number)) for number in range(repeats) for task in tasks]
        chosen.append((target, [RolloutRequest(side, *one) for side in (None, skill) for one in drawn]))
        named += [target.settings.harness, target.settings.judge or target.settings.model]
    wanted = f"{count_noun(len(chosen), 'skill')}, {count_noun(sum(len(one) for _, one in chosen), 'rollout')} or fewer"
    settings, most, stopped = project.settings(flags), flags.get("max_rollouts"), ""
    ask_to_pay(payment_of(project.root, settings, named), wanted, yes=yes)
    given = Given(meter=Meter(caps_of(settings)), allowance=Meter(Caps(rollouts=int(str(most)))) if most else None)
    with closing(Ledger.open(project.root)) as ledger:
        for target, requests in chosen:
            drivers = load_drivers(target.settings, target.suite(), project.root, given, optimizer=False)
            try:
                pairs = Pairs.halves(
                    [] if stopped else RecordedRunner(ledger, "", drivers, observer).rollouts(requests)
                )
            except OutOfBudget as error:
                pairs, stopped = Pairs(), str(error)
            effect, verdict, margin = find_effect(pairs, target.settings, len(chosen))
            headline, failed = headline_of_verdict(verdict), first_failure(pairs.rollouts) or stopped
            reason = {
                SkillEffect.HELPS: f"what of it the tasks need: skillopt shrink {target.name} --dry-run",
                SkillEffect.HURTS: f"next: skillopt optimize {target.name}",
                SkillEffect.IDLE: f"its removal loses less than {margin:.0%} of the tasks passed",
                SkillEffect.CANNOT_TELL: failed.removeprefix("; ") or "too few tasks, or too little differs",
            }[effect]
            rows.append(SkillEffectRow(target.name, effect, headline.words if headline else "", reason))
    if not any(row.passed for row in rows):
        found_instead = "; ".join(f"{row.skill}: {row.reason}" for row in rows) or "no skills"
        raise InfrastructureError(f"expected a skill that can be measured, found {found_instead}")
    return rows


def find_effect(pairs: Pairs, settings: Settings, skills: int) -> tuple[SkillEffect, Verdict, float]:
    """Compare a skill, one of so many, with no skill; an idle one comes with the margin that removal cannot lose."""
    error = _EFFECT_ERROR / 2 / skills
    forth, back = (compare(one, settings.metric, settings.coverage) for one in (pairs, pairs.exchanged))
    found = decide(forth, Question.BETTER, error)
    if found.accepted:
        return SkillEffect.HELPS, found, MARGINS[0]
    if decide(back, Question.BETTER, error).accepted:
        return SkillEffect.HURTS, found, MARGINS[0]
    (removal, margin), (keeping, _) = (rule_out_loss(one, _EFFECT_ERROR, Terms()) for one in (back, forth))
    passed = any(one.score and one.score.passed for one in pairs.rollouts)
    idle = passed and removal.accepted and keeping.accepted
    return SkillEffect.IDLE if idle else SkillEffect.CANNOT_TELL, found, margin
