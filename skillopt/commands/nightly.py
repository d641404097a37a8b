"""The user action `nightly`: train every skill that is due, and keep its pull request up to date.

Owns the order of a night, its budget, and that one skill's failure costs no other its turn. A night has no state of
its own: what is left to do is read from git, the ledger and the forge, so running it again goes on. Does not own
training (optimize), what is due (nightly.due) or pull requests (nightly.pull_requests).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from skillopt.commands.optimize import optimize
from skillopt.errors import BusyError, SkilloptError, UsageError
from skillopt.execution.budget import Caps
from skillopt.execution.metering import Meter
from skillopt.execution.retry import Retry, RetryingForge
from skillopt.execution.runner import RunObserver
from skillopt.forge import find_account, load_forge
from skillopt.nightly.due import Due, in_order, why_due
from skillopt.nightly.pull_requests import Offer, Place, offer
from skillopt.nightly.skill_state import SkillState, Trunk, read_state
from skillopt.project import CONFIG, Project, Selection
from skillopt.rollouts import Usage
from skillopt.runs.plan import Start
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import state_folder, writer_lock
from skillopt.versions.remotes import Login, Remote

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
    """What a night may begin in all; 0 is no cap. Recorded rollouts and calls are free."""

    rollouts: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class SkillNight:
    """A skill's night.

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
        failed_calls: Calls that failed so that nobody knows what they cost.
        offer: What became of its pull request.
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
    offer: Offer = field(default_factory=Offer)


@dataclass(frozen=True, slots=True)
class Nightly:
    """A night: its skills in the order of their turns, and what it took in all."""

    skills: tuple[SkillNight, ...]
    rollouts: int = 0
    usd: float | None = 0.0
    answered_usd: float | None = 0.0
    failed_calls: int = 0

    @property
    def price(self) -> str:
        """Say what it cost: a call that failed leaves what the others cost as it was."""
        known = "price unknown" if self.answered_usd is None else f"${self.answered_usd:.2f}"
        if not self.failed_calls:
            return known
        calls = f"{self.failed_calls} call{'' if self.failed_calls == 1 else 's'}"
        return f"{known}; {calls} failed, and nobody knows what that cost"

    @property
    def broken(self) -> bool:
        """Tell whether something failed that a person must look at."""
        return any(one.training is Training.FAILED for one in self.skills)


@dataclass(slots=True)
class _Purse:
    """What is left of a night's budget."""

    budget: Budget
    rollouts: int = 0
    usd: float | None = 0.0
    answered: Usage = field(default_factory=Usage)
    failed_calls: int = 0

    @property
    def empty(self) -> bool:
        """Tell whether nothing more may begin."""
        spent = self.usd or 0.0
        return 0 < self.budget.rollouts <= self.rollouts or 0 < self.budget.usd <= spent

    def allow(self, share: float) -> Meter:
        """Give what one skill may take: its share of the whole, and no more than is left."""
        total = self.budget
        rollouts = min(total.rollouts - self.rollouts, max(1, int(total.rollouts * share))) if total.rollouts else 0
        usd = min(total.usd - (self.usd or 0.0), total.usd * share) if total.usd else 0.0
        return Meter(Caps(usd=usd, rollouts=rollouts))

    def pay(self, meter: Meter) -> None:
        """Take out what a skill has consumed."""
        self.rollouts += meter.rollouts
        used = Usage.total(meter.by_role.values()).usd
        self.usd = None if self.usd is None or used is None else self.usd + used
        self.answered += meter.answered
        self.failed_calls += meter.failed_calls


@dataclass(frozen=True, slots=True)
class _Night:
    """What holds for all skills of a night."""

    project: Project
    place: Place
    ledger: Ledger
    purse: _Purse
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

    Args:
        budget: What the night may begin.
        flags: Settings that override file and environment.
        folder: Where the command is given; the current folder when None.
        observer: Follows the runs.
        now: Gives the time.

    Raises:
        UsageError: The configuration is wrong; nothing was spent.
        RemoteError: The remote cannot be reached; nothing was spent.
    """
    project = Project.find(folder or Path.cwd())
    if not project.entries:
        message = f"expected skills in {project.config}, found none; write it with `skillopt init`"
        raise UsageError(message)
    place = _find_place(project, flags or {})
    with closing(Ledger.open(project.root)) as ledger:
        night = _Night(project, place, ledger, _Purse(budget or Budget()), observer or RunObserver(), now)
        rows = tuple(_work(night, flags or {}))
    purse = night.purse
    return Nightly(rows, purse.rollouts, purse.usd, purse.answered.usd, purse.failed_calls)


def _find_place(project: Project, flags: Mapping[str, object]) -> Place:
    """See where branches and pull requests go, before anything is spent."""
    settings, repository = project.settings(flags), project.repository()
    nightly = settings.nightly
    if nightly.forge != "none" and not nightly.remote:
        message = (
            f"forge {nightly.forge!r}: expected the git remote that its pull requests belong to, found --remote ''"
        )
        raise UsageError(f"{message}; name one with --remote or in {CONFIG}, or push nothing with --forge none")
    account = find_account(nightly)
    login = Login(account.web, account.token) if account else None
    remote = Remote.find(repository, nightly.remote, login) if nightly.remote else None
    drafts = state_folder(project.root) / "pull-requests"
    driver = load_forge(nightly, remote.url if remote else "", drafts)
    forge = RetryingForge(driver, Retry(settings.executor.retry_seconds))
    if remote is None:
        names = Remote.names(repository)
        # A repository without any remote may be trained; a name that leads nowhere is a mistake.
        if nightly.forge != "none" or (nightly.remote and (names or nightly.remote != "origin")):
            found = ", ".join(map(repr, names)) or "none"
            message = f"forge {nightly.forge!r}: expected a git remote named {nightly.remote!r}, found {found}"
            raise UsageError(f"{message}; add it, or name another with --remote or in {CONFIG}")
        return Place(project, forge, None, None, Trunk("HEAD", ""))
    tips = remote.look()
    return Place(project, forge, remote, tips, Trunk(tips.default_branch, tips.default))


def _work(night: _Night, flags: Mapping[str, object]) -> Iterator[SkillNight]:
    """Give each skill its turn: those that are due first, in order, then the pull requests of all others."""
    due: dict[str, Due] = {}
    turns: dict[str, Selection] = {}
    for name in night.project.entries:
        selection = Selection(name, flags, folder=night.project.root)
        try:
            target = night.project.target(selection)
            if target.suite_path is None:
                yield SkillNight(name, Training.NO_SUITE, reason="it has no suite")
                continue
            found = why_due(_look(night, selection).standing, target.settings.nightly.due_days)
        except SkilloptError as error:
            yield SkillNight(name, Training.FAILED, reason=str(error))
            continue
        turns[target.name] = selection
        if found:
            due[target.name] = found
    order = [found.standing.skill for found in in_order(due.values())]
    for number, skill in enumerate([*order, *(skill for skill in turns if skill not in due)], 1):
        yield _turn(night, turns[skill], skill, last=number >= len(order))


def _look(night: _Night, selection: Selection) -> SkillState:
    """Bring a skill's branch up to where the remote has it, and see how it stands."""
    remote, tips = night.place.remote, night.place.tips
    if remote and tips:
        skill = night.project.target(selection).name
        remote.follow(skill, tips.skills.get(skill))
    return read_state(selection, night.place.trunk, night.ledger, night.now())


def _turn(night: _Night, selection: Selection, skill: str, *, last: bool) -> SkillNight:
    """Train a skill if it is still due, then bring its pull request up to date; no other night may do so meanwhile."""
    row = SkillNight(selection.name or skill, Training.NOT_DUE)
    try:
        with writer_lock(night.project.root, f"{skill}@nightly"):
            row = _train(night, selection, row, last=last)
            if row.training is Training.FINISHED:
                night = replace(night, place=_again(night.place))
            return replace(row, offer=offer(night.place, _look(night, selection), night.ledger))
    except BusyError:
        return replace(row, training=Training.BUSY, reason="another run trains it")
    except SkilloptError as error:
        # What failed first is told first.
        reason = f"{row.reason}; then: {error}" if row.training is Training.FAILED else str(error)
        return replace(row, training=Training.FAILED, reason=reason)


def _again(place: Place) -> Place:
    """See anew where the remote's branches are: training may have taken hours."""
    if place.remote is None:
        return place
    tips = place.remote.look()
    return replace(place, tips=tips, trunk=Trunk(tips.default_branch, tips.default))


def _train(night: _Night, selection: Selection, row: SkillNight, *, last: bool) -> SkillNight:
    """Train a skill that is due, as far as the budget goes."""
    state = _look(night, selection)
    due = why_due(state.standing, state.target.settings.nightly.due_days)
    if due is None:
        return row
    row = replace(row, cause=due.reason)
    if night.purse.empty:
        return replace(row, training=Training.WAITING, reason="the night's budget is used up")
    meter = night.purse.allow(1.0 if last else state.target.settings.nightly.share)
    night.observer.notice(f"{state.target.name}: {due.reason}")
    try:
        done = optimize(selection, start=_start(night, state), observer=night.observer, allowance=meter)
        stopped = night.ledger.run(done.run).state == "stopped"
        training, reason, run, versions = (
            Training.STOPPED if stopped else Training.FINISHED,
            done.reason,
            done.run,
            len(done.versions),
        )
    except BusyError:
        raise
    except SkilloptError as error:
        training, reason, run, versions = Training.FAILED, str(error), "", 0
    finally:
        night.purse.pay(meter)
    row = replace(row, training=training, reason=reason, run=run, versions=versions, rollouts=meter.rollouts)
    usd = Usage.total(meter.by_role.values()).usd
    return replace(row, usd=usd, answered_usd=meter.answered.usd, failed_calls=meter.failed_calls)


def _start(night: _Night, state: SkillState) -> Start:
    """Choose the text to begin with; a run whose first commit cannot be had any more is not gone on with."""
    remote, tips, run = night.place.remote, night.place.tips, state.unfinished
    if state.start != "auto" or run is None or not run.base or remote is None or tips is None:
        return state.start
    if remote.obtain(run.base, tips):
        return "auto"
    return "branch" if state.tip else "worktree"
