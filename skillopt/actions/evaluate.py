"""The user action `evaluate`: score skills on one split, each against the first, task by task."""

from contextlib import closing
from dataclasses import dataclass

from skillopt.execution.drivers import load_drivers
from skillopt.execution.metering import Caps, Meter
from skillopt.execution.runner import RunObserver
from skillopt.execution.scoring import NO_SKILL, ScoredSkill, Scoring
from skillopt.gate.changed_tasks import ChangedTask, changed_tasks
from skillopt.gate.comparison import Tally, Verdict
from skillopt.gate.headline import Headline, headline_of_verdict
from skillopt.gate.judge_noise import JudgeAgreement, judge_agreement
from skillopt.project import Project, Selection, Target
from skillopt.runs.draft_publication import recover_draft
from skillopt.runs.lineage import skill_at
from skillopt.runs.plan import incumbent_of
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split
from skillopt.versions.draft_branch import DRAFT

__all__ = ["INCUMBENT", "WORKTREE", "Evaluated", "Subject", "evaluate"]

WORKTREE = "worktree"
INCUMBENT = "incumbent"
"""What training would go on from."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One skill that was evaluated."""

    name: str
    digest: str
    tally: Tally
    against_first: Verdict | None
    headline: Headline | None = None
    changed: tuple[ChangedTask, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an evaluation found, subjects in the order asked for.

    `metric` is what they are compared by, `judge` how often the judge agreed with itself; None where none judged.
    """

    skill: str
    split: str
    repeats: int
    subjects: tuple[Subject, ...]
    paid_rollouts: int
    metric: str = ""
    judge: JudgeAgreement | None = None


def evaluate(
    selection: Selection,
    *,
    subjects: tuple[str, ...] = (WORKTREE,),
    split: Split = Split.VAL,
    repeats: int = 1,
    observer: RunObserver | None = None,
) -> Evaluated:
    """Score skills on a split."""
    project = selection.project()
    target = project.target(selection)
    suite = target.suite()
    named = [(subject, _subject(project, target, subject)) for subject in subjects]
    # A cap on rollouts in skillopt.toml is on training; one that is given with the command is on the command.
    most = target.settings.max_rollouts if "max_rollouts" in selection.flags else None
    allowance = Meter(Caps(rollouts=most)) if most else None
    drivers = load_drivers(target.settings, suite, project.root, optimizer=False, allowance=allowance)
    with closing(Ledger.open(project.root)) as ledger:
        if observer is not None and suite.left_out:
            observer.notice(suite.left_out)
        scoring = Scoring(ledger, drivers, target.settings, observer)
        measured = scoring.measure(named, suite.tasks_to_evaluate(split), repeats)
    first = Subject(measured[0].name, measured[0].digest, measured[0].tally, None)
    others = (_compared(measured[0], own, scoring.compare(measured[0], own)) for own in measured[1:])
    metric = target.settings.metric.value
    judge = judge_agreement(rollout for own in measured for rollout in own.rollouts)
    return Evaluated(target.name, split.value, repeats, (first, *others), scoring.paid_rollouts, metric, judge)


def _compared(first: ScoredSkill, own: ScoredSkill, verdict: Verdict) -> Subject:
    changed = changed_tasks(verdict, first.rollouts, own.rollouts)
    return Subject(own.name, own.digest, own.tally, verdict, headline_of_verdict(verdict), changed)


def _subject(project: Project, target: Target, subject: str) -> Skill | None:
    if subject == NO_SKILL:
        return None
    if subject == WORKTREE:
        return target.skill()
    if subject == INCUMBENT:
        return incumbent_of(target, project.repository())
    if subject == DRAFT:
        recover_draft(project.root, project.repository(), target.name)
    return skill_at(project.repository(), target, subject)
