"""The command `nightly`: train every skill that is due, and keep its pull request up to date.

A skill that fails does not stop the others. A night has no state of its own: what is left to do is read from git, the
ledger and the forge, so running it again continues.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from skillopt.commands.optimize import optimize
from skillopt.errors import BusyError, NothingMeasuredError, SkilloptError, UsageError
from skillopt.execution.budget import Caps
from skillopt.execution.metering import Meter
from skillopt.execution.retry import Retry, RetryingForge
from skillopt.execution.runner import RunObserver
from skillopt.forge import find_account, load_forge
from skillopt.nightly.due import Due, sort_by_priority, why_due
from skillopt.nightly.pull_requests import (
    NightlyContext,
    PullRequestUpdate,
    update_draft_pull_request,
    update_pull_request,
)
from skillopt.nightly.skill_state import DefaultBranch, SkillState, read_skill_state
from skillopt.project import CONFIG, Project, Selection
from skillopt.rollouts import Usage
from skillopt.runs.plan import Start
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import state_folder, writer_lock
from skillopt.storage.unreported import mark_reported
from skillopt.versions.draft_branch import DraftBranch
from skillopt.versions.remotes import Remote, RemoteLogin

__all__ = ["Budget", "Nightly", "SkillNight", "Training", "nightly"]


class Training(StrEnum):
    """What a night did for a skill."""

    FINISHED = "finished"
    STOPPED = "stopped"
    WAITING = "waiting"
    NOT_DUE = "not due"
    NO_SUITE = "no suite"
    BUSY = "busy"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps of a whole night; 0 is no cap. Recorded rollouts and calls are free."""

    rollouts: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class SkillNight:
    """Result of a night for one skill.

    Args:
        skill: Its configured name.
        training: What was done.
        cause: Why it was due, empty when it was not.
        reason: Why training ended, was not begun, or failed.
        run: Id of the run, empty for none.
        versions: Versions accepted.
        rollouts: Rollouts that were begun.
        usd: What was spent in US dollars, None when some price is not known.
        answered_usd: What the calls that were answered cost, None when the price of some is not known.
        failed_calls: Calls whose failure left their cost unknown.
        offer: What was done with its pull request.
        draft: What was done with the pull request of its draft.
    """

    skill: str
    training: Training
    cause: str = ""
    reason: str = ""
    run: str = ""
    versions: int = 0
    rollouts: int = 0
    usd: float | None = 0.0
    answered_usd: float | None = 0.0
    failed_calls: int = 0
    offer: PullRequestUpdate = field(default_factory=PullRequestUpdate)
    draft: PullRequestUpdate = field(default_factory=PullRequestUpdate)


@dataclass(frozen=True, slots=True)
class Nightly:
    """Result of a night: its skills in the order of their turns, and the total usage."""

    skills: tuple[SkillNight, ...]
    rollouts: int = 0
    usd: float | None = 0.0
    answered_usd: float | None = 0.0
    failed_calls: int = 0

    @property
    def price(self) -> str:
        """Give the cost in words; calls whose cost is unknown are counted beside it."""
        known = "price unknown" if self.answered_usd is None else f"${self.answered_usd:.2f}"
        if not self.failed_calls:
            return known
        calls = f"{self.failed_calls} call{'' if self.failed_calls == 1 else 's'}"
        return f"{known}; {calls} failed at a cost that is unknown"

    @property
    def broken(self) -> bool:
        """Tell whether something failed that a person must look at."""
        return any(one.training is Training.FAILED for one in self.skills)


@dataclass(slots=True)
class _RemainingBudget:
    """The remaining budget of a night, and what was used."""

    budget: Budget
    rollouts: int = 0
    usd: float | None = 0.0
    answered: Usage = field(default_factory=Usage)
    failed_calls: int = 0

    @property
    def exhausted(self) -> bool:
        """Tell whether no more training may begin."""
        spent = self.usd or 0.0
        return 0 < self.budget.rollouts <= self.rollouts or 0 < self.budget.usd <= spent

    def meter_for(self, share: float) -> Meter:
        """Make a meter for one skill: capped at its share of the whole, and at what remains."""
        total = self.budget
        rollouts = min(total.rollouts - self.rollouts, max(1, int(total.rollouts * share))) if total.rollouts else 0
        usd = min(total.usd - (self.usd or 0.0), total.usd * share) if total.usd else 0.0
        return Meter(Caps(usd=usd, rollouts=rollouts))

    def subtract(self, meter: Meter) -> None:
        """Subtract the usage of a skill."""
        self.rollouts += meter.rollouts
        used = Usage.total(meter.by_role.values()).usd
        self.usd = None if self.usd is None or used is None else self.usd + used
        self.answered += meter.answered
        self.failed_calls += meter.failed_calls


@dataclass(frozen=True, slots=True)
class _Night:
    """What all skills of a night share."""

    project: Project
    context: NightlyContext
    ledger: Ledger
    remaining: _RemainingBudget
    observer: RunObserver
    now: Callable[[], datetime]


def nightly(
    budget: Budget | None = None,
    *,
    flags: Mapping[str, object] | None = None,
    folder: Path | None = None,
    observer: RunObserver | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Nightly:
    """Train every skill that is due, the most promising first, and bring all pull requests up to date.

    They are those that skillopt.toml names; where it names none, all skills of the project that have tasks.

    Args:
        budget: Caps of the night.
        flags: Settings that override file and environment.
        folder: Where the command is given; the current folder when None.
        observer: Follows the runs.
        now: Gives the time.

    Raises:
        UsageError: The configuration is wrong; nothing was spent.
        RemoteError: The remote cannot be reached; nothing was spent.
    """
    project = Project.find(folder or Path.cwd())
    names = tuple(project.entries) or tuple(skill.name for skill in project.discover().with_tasks)
    if not names:
        message = (
            f"expected skills in {project.config}, or skills with tasks, found none; write it with `skillopt init`"
        )
        raise UsageError(message)
    context = _find_context(project, flags or {})
    with closing(Ledger.open(project.root)) as ledger:
        night = _Night(project, context, ledger, _RemainingBudget(budget or Budget()), observer or RunObserver(), now)
        rows = tuple(_take_turns(night, names, flags or {}))
    remaining = night.remaining
    return Nightly(rows, remaining.rollouts, remaining.usd, remaining.answered.usd, remaining.failed_calls)


def _find_context(project: Project, flags: Mapping[str, object]) -> NightlyContext:
    """Find the remote and the forge that branches and pull requests go to, before anything is spent."""
    settings, repository = project.settings(flags), project.repository()
    nightly = settings.nightly
    if nightly.forge != "none" and not nightly.remote:
        message = (
            f"forge {nightly.forge!r}: expected the git remote that its pull requests belong to, found --remote ''"
        )
        raise UsageError(f"{message}; name one with --remote or in {CONFIG}, or push nothing with --forge none")
    account = find_account(nightly)
    login = RemoteLogin(account.web, account.token) if account else None
    remote = Remote.find(repository, nightly.remote, login) if nightly.remote else None
    drafts = state_folder(project.root) / "pull-requests"
    driver = load_forge(nightly, remote.url if remote else "", drafts)
    forge = RetryingForge(driver, Retry(settings.executor.retry_seconds))
    if remote is None:
        names = Remote.names(repository)
        # A repository without any remote may be trained; the name of one that does not exist is a mistake.
        if nightly.forge != "none" or (nightly.remote and (names or nightly.remote != "origin")):
            found = ", ".join(map(repr, names)) or "none"
            message = f"forge {nightly.forge!r}: expected a git remote named {nightly.remote!r}, found {found}"
            raise UsageError(f"{message}; add it, or name another with --remote or in {CONFIG}")
        return NightlyContext(project, forge, None, None, DefaultBranch("HEAD", ""))
    tips = remote.fetch_tips()
    return NightlyContext(project, forge, remote, tips, DefaultBranch(tips.default_branch, tips.default))


def _take_turns(night: _Night, names: Iterable[str], flags: Mapping[str, object]) -> Iterator[SkillNight]:
    """Train the skills that are due, in order, then update the pull requests of all others."""
    due: dict[str, Due] = {}
    turns: dict[str, Selection] = {}
    for name in names:
        selection = Selection(name, flags, folder=night.project.root)
        try:
            target = night.project.target(selection)
            if target.suite_path is None:
                yield SkillNight(name, Training.NO_SUITE, reason="it has no suite")
                continue
            found = why_due(_read_state(night, selection).due_facts, target.settings.nightly.due_days)
        except SkilloptError as error:
            yield SkillNight(name, Training.FAILED, reason=str(error))
            continue
        turns[target.name] = selection
        if found:
            due[target.name] = found
    order = [found.facts.skill for found in sort_by_priority(due.values())]
    for number, skill in enumerate([*order, *(skill for skill in turns if skill not in due)], 1):
        yield _turn(night, turns[skill], skill, last=number >= len(order))


def _read_state(night: _Night, selection: Selection) -> SkillState:
    """Fast-forward a skill's branch to the remote's, and read its state."""
    remote, tips = night.context.remote, night.context.tips
    if remote and tips:
        target, repository = night.project.target(selection), remote.repository
        remote.fast_forward(target.name, tips.skills.get(target.name))
        remote.take_up_draft(DraftBranch(repository, target.name, repository.relative(target.folder)), tips)
    return read_skill_state(selection, night.context.default_branch, night.ledger, night.now())


def _turn(night: _Night, selection: Selection, skill: str, *, last: bool) -> SkillNight:
    """Train a skill if it is still due, then update its pull request, under a lock against other nights."""
    row = SkillNight(selection.name or skill, Training.NOT_DUE)
    try:
        with writer_lock(night.project.root, f"{skill}@nightly"):
            row = _train(night, selection, row, last=last)
            if row.training is Training.FINISHED:
                night = replace(night, context=_fetch_again(night.context))
            state = _read_state(night, selection)
            row = replace(row, offer=update_pull_request(night.context, state, night.ledger))
            return replace(row, draft=update_draft_pull_request(night.context, state, night.ledger, row.offer))
    except BusyError:
        return replace(row, training=Training.BUSY, reason="another run trains it")
    except SkilloptError as error:
        # The first failure comes first: it is the likely cause of the second.
        reason = f"{row.reason}; then: {error}" if row.training is Training.FAILED else str(error)
        return replace(row, training=Training.FAILED, reason=reason)


def _fetch_again(context: NightlyContext) -> NightlyContext:
    """Fetch the remote's branches again: training may have taken hours."""
    if context.remote is None:
        return context
    tips = context.remote.fetch_tips()
    return replace(context, tips=tips, default_branch=DefaultBranch(tips.default_branch, tips.default))


def _train(night: _Night, selection: Selection, row: SkillNight, *, last: bool) -> SkillNight:
    """Train a skill that is due, within the remaining budget."""
    state = _read_state(night, selection)
    due = why_due(state.due_facts, state.target.settings.nightly.due_days)
    if due is None:
        return row
    row = replace(row, cause=due.reason)
    if night.remaining.exhausted:
        return replace(row, training=Training.WAITING, reason="the night's budget is used up")
    meter = night.remaining.meter_for(1.0 if last else state.target.settings.nightly.share)
    night.observer.notice(f"{state.target.name}: {due.reason}")
    try:
        done = optimize(selection, start=_start(night, state), observer=night.observer, allowance=meter)
        mark_reported(night.project.root, done.run)  # a night reads from the ledger what it offers
        stopped = night.ledger.run(done.run).state == "stopped"
        training, reason, run, versions = (
            Training.STOPPED if stopped else Training.FINISHED,
            done.reason,
            done.run,
            len(done.versions),
        )
    except BusyError:
        raise
    except NothingMeasuredError as error:
        # What the night left too little for goes on in the next one; a run's own cap would end that one, too.
        training = Training.STOPPED if meter.refused else Training.FAILED
        reason, run, versions = str(error), error.run, 0
    except SkilloptError as error:
        training, reason, run, versions = Training.FAILED, str(error), "", 0
    finally:
        night.remaining.subtract(meter)
    row = replace(row, training=training, reason=reason, run=run, versions=versions, rollouts=meter.rollouts)
    usd = Usage.total(meter.by_role.values()).usd
    return replace(row, usd=usd, answered_usd=meter.answered.usd, failed_calls=meter.failed_calls)


def _start(night: _Night, state: SkillState) -> Start:
    """Choose the text to begin with; a run whose first commit cannot be fetched any more is not continued."""
    remote, tips, run = night.context.remote, night.context.tips, state.unfinished
    if state.start != "auto" or run is None or not run.base or remote is None or tips is None:
        return state.start
    if remote.fetch_commit(run.base, tips):
        return "auto"
    return "branch" if state.tip else "worktree"
