"""The command `nightly train`: train every skill that is due, and write down what is to be offered.

It has no token of the forge and reaches no remote; what these say is in the file that `nightly check` wrote. A skill
that fails does not stop the others.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from skillopt.actions.nightly.answers import answer_people, answer_training, holds_decision
from skillopt.actions.nightly.check import configured_skills
from skillopt.actions.nightly.contradictions import describe_contradiction
from skillopt.actions.nightly.descriptions import DescriptionNight, train_descriptions
from skillopt.actions.nightly.refusals import refuse_cluster, refuse_credentials
from skillopt.errors import BusyError, NothingMeasuredError, SkilloptError, UsageError
from skillopt.execution.metering import Meter
from skillopt.execution.places import CallPlaces
from skillopt.execution.runner import RunObserver
from skillopt.execution.turns import NamedObserver, take_turns
from skillopt.nightly.dashboard import NightRecord, SkillFacts, spent_in_month, why_no_money
from skillopt.nightly.due import Due, DueCause, sort_by_priority, why_due
from skillopt.nightly.known_texts import DefaultBranch, read_many_texts
from skillopt.nightly.night import Budget, Nightly, RemainingBudget, SkillNight, Training, with_failure
from skillopt.nightly.offer_folder import BUNDLE, REPORT, SkillOffers, make_folder, write_offers
from skillopt.nightly.people_commands import Verb
from skillopt.nightly.posting import BranchOffer
from skillopt.nightly.pull_requests import NightlyContext, OfferMaking, offer_draft, offer_version
from skillopt.nightly.review_state import ReviewState, read_state
from skillopt.nightly.schedule import why_no_training
from skillopt.nightly.skill_state import SkillState, measured_pass_rate, read_skill_state
from skillopt.project import Project, Selection, Target
from skillopt.rollouts import Usage
from skillopt.runs.plan import Start
from skillopt.runs.training import optimize
from skillopt.settings import NightlySettings
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.storage.notes import mark_reported
from skillopt.tasks import digest_of
from skillopt.versions.bundles import write_bundle
from skillopt.versions.merging import StartPlace, write_start
from skillopt.versions.remotes import Remote

__all__ = ["train_night"]

_LONGEST: Final = 500
_USED_UP: Final = "the night's budget is used up"


@dataclass(frozen=True, slots=True)
class _Night:
    """What all skills of a night share."""

    context: NightlyContext
    review: ReviewState
    ledger: Ledger
    remaining: RemainingBudget
    observer: RunObserver
    now: Callable[[], datetime]
    report: Path
    began: datetime
    no_money: str = ""
    offers: list[SkillOffers] = field(default_factory=list)
    facts: dict[str, SkillFacts] = field(default_factory=dict)


def train_night(
    state: Path,
    out: Path,
    budget: Budget,
    *,
    flags: Mapping[str, object] | None = None,
    folder: Path | None = None,
    observer: RunObserver | None = None,
) -> Nightly:
    """Train every skill that is due, the most promising first, and write what is to be offered into a folder."""
    project = Project.find(folder or Path.cwd())
    settings = project.settings(flags or {})
    review = read_state(state)
    refuse_credentials(project)
    refuse_cluster(settings, budget)
    make_folder(out)  # before anything is paid for
    context = _context(project, review)
    with closing(Ledger.open(project.root)) as ledger:
        began, cap = datetime.now(UTC), settings.nightly.monthly_usd
        places = CallPlaces(settings.executor.workers) if budget.at_once > 1 else None
        remaining = RemainingBudget(_of_month(budget, review, cap, began), places)
        night = _Night(
            context,
            review,
            ledger,
            remaining,
            observer or RunObserver(),
            lambda: datetime.now(UTC),
            out / REPORT,
            began,
            why_no_money(review.memory, cap, began),
        )
        rows: list[SkillNight] = []
        try:
            _take_turns(night, _chosen(project, review), flags or {}, rows)
            shared = DescriptionNight(context, review, remaining, night.observer, night.no_money, flags or {})
            train_descriptions(shared, rows, night.offers)
        finally:
            found = remaining.night(tuple(rows))
            _hand_over(night, out, found)
    return found


def _of_month(budget: Budget, review: ReviewState, cap: float | None, now: datetime) -> Budget:
    """Return a night no more money than the month has left."""
    left = 0.0 if cap is None else cap - spent_in_month(review.memory, now)
    return replace(budget, usd=min(budget.usd or left, left)) if left > 0 else budget


def _context(project: Project, review: ReviewState) -> NightlyContext:
    """Return remote and tips as they were when the forge was asked; whatever is missing here cannot be fetched now."""
    repository, tips = project.repository(), review.tips
    if not review.remote or tips is None:
        return NightlyContext(project, None, None, DefaultBranch("HEAD", ""))
    remote = Remote.find(repository, review.remote)
    if remote is None:
        raise UsageError(f"expected a git remote named {review.remote!r}, as `nightly check` found it, found none")
    missing = remote.missing_commits(tips)
    if missing:
        message = f"expected {missing[0]} of {review.remote} here, found nothing; fetch all branches first"
        raise UsageError(f"{message} (in a workflow, check out with `fetch-depth: 0`), or run `nightly check` again")
    return NightlyContext(project, remote, tips, DefaultBranch(tips.default_branch, tips.default))


def _chosen(project: Project, review: ReviewState) -> tuple[str, ...]:
    """List the skills of the night that the forge was asked about."""
    asked = {one.skill for one in review.skills}
    return tuple(name for name in configured_skills(project) if name in asked)


def _take_turns(night: _Night, names: Sequence[str], flags: Mapping[str, object], rows: list[SkillNight]) -> None:
    """Train the skills that are due, in order, then look at all others."""
    due: dict[str, Due] = {}
    turns: dict[str, Selection] = {}
    asked: list[tuple[str, Selection, Target]] = []
    for name in names:
        selection = Selection(name, flags, folder=night.context.project.root)
        try:
            target = night.context.project.target(selection)
            if target.suite_path is None:
                rows.append(SkillNight(name, Training.NO_SUITE, reason="it has no suite"))
                continue
            night.context.take_up(target)
        except SkilloptError as error:
            rows.append(SkillNight(name, Training.FAILED, reason=str(error)))
            continue
        asked.append((name, selection, target))
    project, branch = night.context.project, night.context.default_branch
    texts = read_many_texts(project.repository(), [target for *_, target in asked], branch)
    for name, selection, target in asked:
        try:
            state = read_skill_state(selection, branch, night.ledger, night.now(), texts.get(target.name))
            found = _why_due(night, name, state)
        except SkilloptError as error:
            rows.append(SkillNight(name, Training.FAILED, reason=str(error)))
            continue
        turns[target.name] = selection
        if found:
            due[target.name] = found
    rows.sort(key=lambda row: names.index(row.skill))
    order = [found.facts.skill for found in sort_by_priority(due.values())]
    order += [skill for skill in turns if skill not in due]
    at_once = night.remaining.budget.at_once
    jobs = [
        partial(_turn, night, turns[skill], skill, last=number >= len(due))
        if at_once == 1
        else partial(_turn_beside, night, turns[skill], skill)
        for number, skill in enumerate(order, 1)
    ]
    rows.extend(take_turns(jobs, at_once, night.remaining.places))
    night.offers.sort(key=lambda one: order.index(one.name))


def _turn_beside(night: _Night, selection: Selection, skill: str) -> SkillNight:
    """Take a turn beside others: with a ledger of its own, whose connection belongs to a thread."""
    with closing(Ledger.open(night.context.project.root)) as ledger:
        observer = NamedObserver(night.observer, skill)
        row = _turn(replace(night, ledger=ledger, observer=observer), selection, skill, last=False)
    if row.run or row.reason:
        observer.notice(f"{row.training}: {row.reason}")
    return row


def _read_state(night: _Night, selection: Selection) -> SkillState:
    """Fast-forward a skill's branch to the remote's, and read its state."""
    if night.context.remote:
        night.context.take_up(night.context.project.target(selection))
    return read_skill_state(selection, night.context.default_branch, night.ledger, night.now())


def _turn(night: _Night, selection: Selection, skill: str, *, last: bool) -> SkillNight:
    """Train a skill if it is still due, then say what is offered of it, under a lock against other nights."""
    row = SkillNight(selection.name or skill, Training.NOT_DUE)
    try:
        with writer_lock(night.context.project.root, f"{skill}@nightly"):
            state, review = _read_state(night, selection), night.review.of(row.skill)
            answers = answer_people(selection, state, review, night.context.default_branch.commit)
            row = replace(row, answers=answers.lines)
            if answers.ignored:
                row = replace(row, training=Training.IGNORED, reason=answers.ignored)
                answers = answer_training(answers, review, row)
                made = SkillOffers(skill=row.skill, name=skill, version=_decision(night, state), answers=answers.posted)
                night.offers.append(made)
                night.facts[row.skill] = _facts(night, row, state)
                return replace(row, answers=answers.lines)
            row = _train(night, selection, row, last=last)
            answers = answer_training(answers, review, row)
            row = replace(row, answers=answers.lines)
            state = _read_state(night, selection)
            night.offers.append(_offer(night, row.skill, state).model_copy(update={"answers": answers.posted}))
            night.facts[row.skill] = _facts(night, row, state)
            return row
    except BusyError:
        return replace(row, training=Training.BUSY, reason="another run trains it")
    except SkilloptError as error:
        return with_failure(row, error)


def _why_due(night: _Night, skill: str, state: SkillState) -> Due | None:
    """Return why a skill is due: by its state, or because people ask for it in a pull request."""
    found = why_due(state.due_facts, state.target.settings.nightly.due_days)
    asked = next(iter(night.review.of(skill).training_wanted), None)
    if found is None and asked is not None:
        return Due(state.due_facts, DueCause.CHANGED, f"{asked.by} asked for it in {asked.url}")
    return found


def _train(night: _Night, selection: Selection, row: SkillNight, *, last: bool) -> SkillNight:
    """Train a skill that is due, within the remaining budget."""
    state = _read_state(night, selection)
    due = _why_due(night, row.skill, state)
    if due is None:
        return row
    row = replace(row, cause=due.reason)
    waits = _why_waiting(night, state.target.settings.nightly)
    if waits:
        return replace(row, training=Training.WAITING, reason=waits)
    anew = any(one.verb is Verb.REBASE for one in night.review.of(row.skill).training_wanted)
    if state.conflicts and not anew:
        return replace(row, training=Training.WAITING, reason=describe_contradiction(night.context, state))
    if state.moves_on or state.conflicts:
        state = _begin_from_default_branch(night, selection, state)
    night.observer.notice(f"{state.target.name}: {due.reason}")
    meter = night.remaining.meter_for(1.0 if last else state.target.settings.nightly.share)
    if night.remaining.exhausted:  # while it waited for others
        night.remaining.subtract(meter)
        return replace(row, training=Training.WAITING, reason=_USED_UP)
    return _trained(night, selection, state, row, meter)


def _trained(night: _Night, selection: Selection, state: SkillState, row: SkillNight, meter: Meter) -> SkillNight:
    """Train within what a meter allows, and say what came of it."""
    try:
        done = optimize(selection, start=_start(night, state), observer=night.observer, allowance=meter)
        # A night reads from the ledger what it offers.
        mark_reported(night.context.project.root, done.run)
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


def _offer(night: _Night, skill: str, state: SkillState) -> SkillOffers:
    """Return what is offered of a skill; what must be measured for that counts as the night's."""
    review = night.review.of(skill)
    beside = night.remaining.places is not None
    meter = night.remaining.meter_for(state.target.settings.nightly.share if beside else 1.0)
    try:
        making = OfferMaking(night.context, night.ledger, night.report, night.observer, meter)
        version = offer_version(making, state, review.versions)
        draft = offer_draft(making, state, review.drafts)
    finally:
        night.remaining.subtract(meter)
    if version is not None:
        decided = holds_decision(night.context.project.repository(), version.tip)
        opened = next((one.number for one in review.versions if one.state == "open"), 0)
        version = version.model_copy(update={"decided": decided, "opened": opened})
    if draft is not None:
        opened = next((one.number for one in review.drafts if one.state == "open"), 0)
        draft = draft.model_copy(update={"opened": opened})
    return SkillOffers(skill=skill, name=state.target.name, version=version, draft=draft)


def _decision(night: _Night, state: SkillState) -> BranchOffer | None:
    """Offer only what people decided, of a skill that is left alone otherwise; None where that is nothing new."""
    repository, tips, name = night.context.project.repository(), night.context.tips, state.target.name
    tip, seen = repository.branch_tip(name) or "", tips.skills.get(name, "") if tips else ""
    if tip == seen or not holds_decision(repository, tip):
        return None
    return BranchOffer(branch=f"skillopt/{name}", seen=seen, tip=tip, unfit_reason="it is left alone", decided=True)


def _why_waiting(night: _Night, settings: NightlySettings) -> str:
    """Return why a skill that is due is not trained now; empty when it is."""
    if night.remaining.exhausted:
        return _USED_UP
    return night.no_money or why_no_training(settings.train_days, settings.train_hours, night.now().astimezone())


def _facts(night: _Night, row: SkillNight, state: SkillState) -> SkillFacts:
    """Find out what the dashboard shows of a skill."""
    due = why_due(state.due_facts, state.target.settings.nightly.due_days)
    review = night.review.of(row.skill)
    newest = max((*review.versions, *review.drafts), key=lambda one: one.number, default=None)
    return SkillFacts(
        passed=measured_pass_rate(night.ledger, row.run) if row.run else None,
        due=due.reason[:_LONGEST] if due else "",
        stale=due is not None and due.cause is DueCause.STALE,
        declined=newest.url[:_LONGEST] if newest is not None and newest.state == "closed" else "",
    )


def _begin_from_default_branch(night: _Night, selection: Selection, state: SkillState) -> SkillState:
    """Merge the default branch, whose text people changed, into the skill's branch, and read the state that gives."""
    repository, target = night.context.project.repository(), state.target
    onto = night.context.default_branch.commit
    place = StartPlace(repository, target.name, repository.relative(target.folder), state.tip, onto)
    with writer_lock(night.context.project.root, target.name):
        write_start(place, night.now().isoformat(timespec="seconds"), anew=bool(state.conflicts))
    return _read_state(night, selection)


def _start(night: _Night, state: SkillState) -> Start:
    """Choose the text to begin with; a run whose first commit is not here any more is not continued."""
    remote, run = night.context.remote, state.unfinished
    if state.start != "auto" or run is None or not run.base or remote is None:
        return state.start
    if remote.repository.ref_tip(run.base) is not None:
        return "auto"
    return "branch" if state.tip else "worktree"


def _hand_over(night: _Night, out: Path, found: Nightly) -> None:
    """Write what is to be offered, and the branches with it."""
    write_offers(out, night.review.remote, found, night.offers, _record(night, found))
    remote, tips = night.context.remote, night.context.tips
    if remote is None or tips is None:
        return
    offered = [one for skill in night.offers for one in skill.branches if one.tip]
    branches = {f"refs/heads/{one.branch}": one.tip for one in offered}
    here = {name: tip for name, tip in branches.items() if remote.repository.ref_tip(name) == tip}
    write_bundle(remote.repository, out / BUNDLE, here, tips.all)


def _record(night: _Night, found: Nightly) -> NightRecord:
    """Write down what the dashboard is to remember of the night."""
    identity = digest_of(night.began.isoformat(), *(row.run for row in found.skills))[:12]
    usd = sum(row.answered_usd or 0.0 if row.usd is None else row.usd for row in found.skills)
    priced = found.usd is not None and not found.failed_calls
    looked_at = {row.skill for row in found.skills}
    others = tuple(name for name in configured_skills(night.context.project) if name not in looked_at)
    return NightRecord(id=identity, at=night.began, usd=usd, priced=priced, skills=night.facts, others=others)
