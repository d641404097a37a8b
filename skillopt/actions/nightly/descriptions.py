"""What a night does about descriptions: it trains those that are due, and says what is offered of them.

It comes after the training of all skills' bodies, with what they left of the night's budget.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from skillopt.actions.trigger import description_basis, train_triggers
from skillopt.errors import BusyError, SkilloptError, SuiteError, UsageError
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RunObserver
from skillopt.nightly.description_offers import offer_description
from skillopt.nightly.night import RemainingBudget, SkillNight, with_failure
from skillopt.nightly.offer_folder import SkillOffers
from skillopt.nightly.posting import BranchOffer
from skillopt.nightly.pull_request_policy import closed_by_people
from skillopt.nightly.pull_requests import NightlyContext
from skillopt.nightly.review_state import ReviewState, SkillReview
from skillopt.nightly.schedule import why_no_training
from skillopt.project import Selection, Target
from skillopt.rollouts import Usage
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.locks import writer_lock
from skillopt.storage.notes import read_basis
from skillopt.triggers.declined import DescriptionPlace, decline_descriptions, declined_last, undecline_descriptions
from skillopt.triggers.due import committed_bases, why_description_due
from skillopt.triggers.plan import TriggerAsk, has_requests, plan_triggers
from skillopt.triggers.version import description_line, description_of, description_tip, offered_descriptions
from skillopt.versions.commit_message import UNDECLINED
from skillopt.versions.decisions import PersonsWord
from skillopt.versions.draft_branch import DESCRIPTION_BRANCHES

__all__ = ["DescriptionNight", "train_descriptions"]


@dataclass(frozen=True, slots=True)
class DescriptionNight:
    """What the descriptions of a night share."""

    context: NightlyContext
    review: ReviewState
    remaining: RemainingBudget
    observer: RunObserver
    no_money: str
    flags: Mapping[str, object]


def train_descriptions(night: DescriptionNight, rows: list[SkillNight], offers: list[SkillOffers]) -> None:
    """Train the descriptions that are due, and add to rows and offers what came of that."""
    for number, row in enumerate(rows):
        selection = Selection(row.skill, night.flags, folder=night.context.project.root)
        try:
            target = night.context.project.target(selection)
            with writer_lock(night.context.project.root, f"{target.name}@nightly"):
                rows[number], offer = _turn(night, selection, target, row)
        except BusyError:
            rows[number] = replace(row, described="its description waits: another run trains the skill")
            continue
        except SkilloptError as error:
            rows[number] = with_failure(row, error)
            continue
        if offer is not None:
            _add(offers, row.skill, target.name, offer)


def _add(offers: list[SkillOffers], skill: str, name: str, offer: BranchOffer) -> None:
    known = next((at for at, one in enumerate(offers) if one.skill == skill), None)
    if known is None:
        offers.append(SkillOffers(skill=skill, name=name, description=offer))
    else:
        offers[known] = offers[known].model_copy(update={"description": offer})


def _turn(
    night: DescriptionNight, selection: Selection, target: Target, row: SkillNight
) -> tuple[SkillNight, BranchOffer | None]:
    """Do what people said of a description, train it if it is due, and say what is offered of it."""
    remote, tips, review = night.context.remote, night.context.tips, night.review.of(row.skill)
    if remote and tips:
        remote.fast_forward(target.name, tips.descriptions.get(target.name), DESCRIPTION_BRANCHES)
    row = replace(row, answers=(*row.answers, *_settle(night, target, review)))
    if review.ignored is None:
        row = _train(night, selection, target, row)
    elif has_requests(selection):
        said = f"{review.ignored.by} asked for that in {review.ignored.url}"
        row = replace(row, described=f"its description is left alone: {said}")
    offer = offer_description(night.context, target, review.descriptions)
    if offer is not None and review.ignored:
        nothing = {"unfit_reason": "it is left alone", "moot_reason": "", "title": "", "body": ""}
        offer = offer.model_copy(update=nothing)
    return row, offer


def _settle(night: DescriptionNight, target: Target, review: SkillReview) -> Iterator[str]:
    """Decline what people closed, and take back what they opened again."""
    repository, name, onto = night.context.project.repository(), target.name, night.context.default_branch.commit
    if not review.descriptions or description_tip(repository, name) is None:
        return
    place = DescriptionPlace(repository, name, repository.relative(target.folder), onto)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    with writer_lock(night.context.project.root, name):
        for one in filter(closed_by_people, review.descriptions):
            if one.head in _refusable(place):
                closing = next((said for said in review.closings if said.pull_request == one.number), None)
                word = PersonsWord.said(closing.by if closing else "", closing.reason if closing else "", one.url)
                decline_descriptions(place, word, at)
                yield f"#{one.number} was closed by people: its description is declined, training does not try it again"
        newest = review.descriptions[0]
        wanted, url = declined_last(repository, name)
        if newest.state == "open" and wanted and url == newest.url:
            undecline_descriptions(place, PersonsWord.said("", "", newest.url), at)
            yield f"#{newest.number} was opened again: its description is the newest again"


def _refusable(place: DescriptionPlace) -> set[str]:
    """List the commits whose pull request declines what is offered now when people close it."""
    line = description_line(place.repository, place.skill)
    offered = {one.sha for one in offered_descriptions(place.repository, place.skill, place.path, place.onto)}
    # Whoever closes the pull request of one that is wanted after all says so of the commit that brought it back.
    again = {sha for one in line for sha in one.values(UNDECLINED)}
    newest = {one.sha for one in line[:1] if offered and one.values(UNDECLINED)}
    return (offered - again) | newest


def _train(night: DescriptionNight, selection: Selection, target: Target, row: SkillNight) -> SkillNight:
    """Train a description that is due, within the remaining budget."""
    ask, root = TriggerAsk(selection), night.context.project.root
    if not has_requests(selection):
        return row
    try:
        basis, path = description_basis(plan_triggers(ask))
        repository = night.context.project.repository()
        known = read_basis(root, target.name)
        trained = [*([known] if known else []), *committed_bases(repository, target.name, path)]
        due = why_description_due(basis, trained)
        waits = _why_waiting(night, target, path) if due else ""
        if waits or not due:
            return replace(row, described=f"its description waits: {waits}" if waits else "")
        meter = night.remaining.meter_for(target.settings.nightly.share, target.settings.max_rollouts or 0)
        night.observer.notice(f"{target.name}: {due}")
        return _spent(night, ask, meter, replace(row, described=due))
    except SuiteError:
        raise
    except UsageError as error:
        return replace(row, described=f"its description was not trained: {error}")


def _spent(night: DescriptionNight, ask: TriggerAsk, meter: Meter, row: SkillNight) -> SkillNight:
    """Train a description, and count what that spent, however it ended."""
    try:
        done = train_triggers(ask, observer=night.observer, allowance=meter)
        row = replace(row, described=f"{row.described}; {done.reason}")
    except (BusyError, UsageError):
        raise
    except SkilloptError as error:
        # What the night left too little for goes on in the next one.
        stopped = replace(row, described=f"{row.described}; it ended early, the next night goes on: {error}")
        row = stopped if meter.refused else with_failure(row, error)
    finally:
        night.remaining.subtract(meter)
    used, answered = Usage.total(meter.by_role.values()).usd, meter.answered.usd
    return replace(
        row,
        rollouts=row.rollouts + meter.rollouts,
        usd=None if row.usd is None or used is None else row.usd + used,
        answered_usd=None if row.answered_usd is None or answered is None else row.answered_usd + answered,
        failed_calls=row.failed_calls + meter.failed_calls,
    )


def _why_waiting(night: DescriptionNight, target: Target, path: str) -> str:
    """Return why a description that is due is not trained now; empty when it is."""
    settings, onto = target.settings.nightly, night.context.default_branch
    if night.remaining.exhausted:
        return "the night's budget is used up"
    if reason := night.no_money or why_no_training(
        settings.train_days, settings.train_hours, datetime.now().astimezone()
    ):
        return reason
    there = ""
    with suppress(SkilloptError):
        there = description_of(night.context.project.repository(), onto.commit, path) if onto.commit else ""
    if there and there != listed_description(target.skill().document):
        return f"it differs between {onto.name} and this clone; update the clone (git pull)"
    return ""
