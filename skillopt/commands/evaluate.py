"""The user action `evaluate`: score skills on one split, each against the first, task by task."""

from contextlib import closing
from dataclasses import dataclass

from skillopt.documents import Skill
from skillopt.errors import InvalidMeasurementError, UsageError
from skillopt.executors.threads import ThreadExecutor
from skillopt.gate import GateRule, Outcome, Tally, Verdict, compare, tally
from skillopt.ledger import Ledger
from skillopt.ports import RolloutRequest
from skillopt.project import Project, Selection, Target
from skillopt.roles import load_roles
from skillopt.rollouts import Rollout
from skillopt.runner import RecordedRunner, Watch
from skillopt.skill_folder import skill_from_files
from skillopt.tasks import Split

__all__ = ["NO_SKILL", "WORKTREE", "Evaluated", "Subject", "evaluate"]

WORKTREE = "worktree"
NO_SKILL = "none"


@dataclass(frozen=True, slots=True)
class Subject:
    """One skill that was evaluated.

    Args:
        name: `worktree`, `none`, or the version as it was given.
        digest: Digest of the skill, empty for no skill.
        tally: Its scores.
        against_first: Compared with the first subject; None for the first itself.
    """

    name: str
    digest: str
    tally: Tally
    against_first: Verdict | None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an evaluation found, subjects in the order asked for."""

    skill: str
    split: str
    trials: int
    subjects: tuple[Subject, ...]
    paid_rollouts: int


def evaluate(
    selection: Selection,
    *,
    subjects: tuple[str, ...] = (WORKTREE,),
    split: Split = Split.VAL,
    trials: int = 1,
    watch: Watch | None = None,
) -> Evaluated:
    """Score skills on a split.

    Args:
        selection: The skill, its suite and settings.
        subjects: What to score: `worktree`, `none` for no skill, or a version (a commit).
        split: Which tasks; `test` is sealed, every look at it makes it worth less.
        trials: Runs of each task, ≥ 1.
        watch: Follows the rollouts.

    Raises:
        UsageError: Something is missing or wrong; nothing was spent.
        InvalidMeasurementError: Too little could be measured.
    """
    project = selection.project()
    target = project.target(selection)
    suite = target.suite()
    tasks = suite.tasks(split)
    skills = [_subject(project, target, subject) for subject in subjects]
    settings = target.settings
    watch = watch or Watch()
    with closing(Ledger.open(project.root)) as ledger:
        runner = RecordedRunner(
            ledger,
            "",
            load_roles(settings, suite, project.root, optimizer=False),
            ThreadExecutor(settings.workers, watch.notice),
            watch,
            settings.breaker,
        )
        requests = [RolloutRequest(skill, task, trial) for skill in skills for trial in range(trials) for task in tasks]
        rollouts = runner.rollouts(requests)
    size = len(tasks) * trials
    measured = [rollouts[start : start + size] for start in range(0, len(rollouts), size)]
    found = [_score(target, subjects[at], skill, measured[0], measured[at], at) for at, skill in enumerate(skills)]
    return Evaluated(target.name, split.value, trials, tuple(found), runner.paid_rollouts)


def _subject(project: Project, target: Target, subject: str) -> Skill | None:
    if subject == NO_SKILL:
        return None
    if subject == WORKTREE:
        return target.skill()
    repository = project.repository()
    files = repository.read_folder(repository.resolve(subject), repository.relative(target.folder))
    if not files:
        message = f"version {subject!r} has no {repository.relative(target.folder)}/SKILL.md; see `skillopt log`"
        raise UsageError(message)
    return skill_from_files(target.name, files)


def _score(
    target: Target, name: str, skill: Skill | None, first: tuple[Rollout, ...], own: tuple[Rollout, ...], at: int
) -> Subject:
    settings = target.settings
    found = tally(own)
    if found.measured < settings.coverage * (found.measured + found.missing):
        reason = next(rollout.reason for rollout in own if rollout.score is None)
        message = f"{name}: only {found.measured} of {found.measured + found.missing} tasks could be measured: {reason}"
        raise InvalidMeasurementError(message)
    verdict = compare(
        first,
        own,
        rule=GateRule.PAIRED,
        metric=settings.metric,
        confidence=settings.confidence,
        coverage=settings.coverage,
    )
    if verdict.outcome is Outcome.INVALID:
        raise InvalidMeasurementError(f"{name}: {verdict.reason}")
    return Subject(name, skill.digest if skill else "", found, verdict if at else None)
