"""What a night does about descriptions: it trains those that are due, and says what is offered of them.

It comes after the training of all skills' bodies, with what they left of the night's budget. The text of a pull
request is read from git alone.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from skillopt.contrib.triggers.drafts import NON_INFERIORITY, DescriptionDraft, why_description_due
from skillopt.contrib.triggers.looks import read_basis
from skillopt.contrib.triggers.plan import TriggerAsk, has_requests, plan_triggers
from skillopt.contrib.triggers.run import description_basis, train_triggers
from skillopt.errors import BusyError, SkilloptError, SuiteError, UsageError
from skillopt.execution.metering import Meter
from skillopt.nightly.answers import answer_people
from skillopt.nightly.handover import BranchOffer, SkillOffers, open_request
from skillopt.nightly.night import SHARE, SkillNight, Training, with_failure
from skillopt.nightly.offers import Night, offer_decision
from skillopt.project import Selection, Target
from skillopt.protocols import PullRequest
from skillopt.reports.markdown import comment_marker, text_block
from skillopt.runs.run import draft_obstacle
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.locks import writer_lock
from skillopt.tasks import digest_of
from skillopt.versions.branches import DRAFT_BRANCHES, DraftBranch
from skillopt.versions.commit_message import Version
from skillopt.versions.refusals import refusals_of, stored_lines

_MOST_ROWS: Final = 60  # trailers that a pull request shows
_COUNTED: Final = re.compile(r"\d{1,6}/\d{1,6}", re.ASCII)


def train_descriptions(night: Night, rows: list[SkillNight]) -> None:
    """Train the descriptions that are due, and add to rows and offers what came of that."""
    for number, row in enumerate(rows):
        if row.training is Training.GONE:
            continue
        selection = Selection(row.skill, night.flags, folder=night.project.root)
        try:
            target = night.project.target(selection)
            with writer_lock(night.project.root, f"{target.name}@nightly"):
                rows[number] = _turn(night, selection, target, row)
        except BusyError:
            rows[number] = replace(row, described="its description waits: another run trains the skill")
        except SkilloptError as error:
            rows[number] = with_failure(row, error)


def _turn(night: Night, selection: Selection, target: Target, row: SkillNight) -> SkillNight:
    """Train a description if it is due, and say what is offered of it."""
    review, repository = night.review.of(row.skill), night.repository
    known = next((one for one in night.offers if one.skill == row.skill), None)
    made = known or SkillOffers(skill=row.skill, name=target.name)
    if row.training is Training.NO_SUITE and has_requests(selection):  # nobody has asked for its branches yet
        night.take_up(target)
        answers = answer_people(selection, target, review, night.tips.default)
        night.take_up(target)  # what people want after all
        refusals = stored_lines(repository, refusals_of(repository, target.name))
        decided = {"version": offer_decision(night, target.name), "answers": answers.posted, "refusals": refusals}
        made, row = made.model_copy(update=decided), replace(row, answers=answers.lines)
    draft = DescriptionDraft(DraftBranch(repository, target.name, target.place(repository)))
    if has_requests(selection):
        if review.ignored is None:
            row = _train(night, selection, target, draft, row)
        else:
            said = f"{review.ignored.by} asked for that in {review.ignored.url}"
            row = replace(row, described=f"its description is left alone: {said}")
    seen = night.tips.of(DRAFT_BRANCHES, target.name)
    if (waiting := draft.waiting) is not None and not review.ignored:
        made = made.model_copy(update={"draft": _offer(night, target, draft, waiting, review.drafts)})
    elif row.training is Training.NO_SUITE and seen and draft.branch.tip is None:
        gone = BranchOffer(branch=draft.branch.name, seen=seen, moot_reason="there is no draft any more")
        made = made.model_copy(update={"draft": gone})
    if made != (known or SkillOffers(skill=row.skill, name=target.name)):
        night.offers[:] = [*(one for one in night.offers if one is not known), made]
    return row


def _train(night: Night, selection: Selection, target: Target, draft: DescriptionDraft, row: SkillNight) -> SkillNight:
    """Train a description that is due, within the remaining budget."""
    ask = TriggerAsk(selection)
    if draft.branch.tip is not None and draft.waiting is None:
        return replace(row, described="its description waits: another draft waits for a person")
    try:
        basis, _ = description_basis(plan_triggers(ask))
        known = read_basis(night.project.root, target.name)
        trained = [*([known] if known else []), *draft.bases()]
        due = why_description_due(basis, trained)
        if not due:
            return row
        if waits := night.remaining.used_up or _why_outdated(night, target, draft):
            return replace(row, described=f"its description waits: {waits}")
        night.observer.notice(f"{target.name}: {due}")
        with night.remaining.metered(SHARE, most=target.settings.max_rollouts or 0) as meter:
            row = _trained(night, ask, meter, replace(row, described=due))
        return row.with_usage(meter)
    except SuiteError:
        raise
    except UsageError as error:
        return replace(row, described=f"its description was not trained: {error}")


def _trained(night: Night, ask: TriggerAsk, meter: Meter, row: SkillNight) -> SkillNight:
    """Train a description, and say how that ended."""
    try:
        done = train_triggers(ask, observer=night.observer, allowance=meter)
        return replace(row, described=f"{row.described}; {done.reason}")
    except (BusyError, UsageError):
        raise
    except SkilloptError as error:
        # What the night left too little for goes on in the next one.
        stopped = replace(row, described=f"{row.described}; it ended early, the next night goes on: {error}")
        return stopped if meter.refused else with_failure(row, error)


def _why_outdated(night: Night, target: Target, draft: DescriptionDraft) -> str:
    """Return why a description is not trained from the text that this clone has; empty when it is."""
    onto, there = night.tips, ""
    with suppress(SkilloptError):
        there = draft.text(onto.default) if onto.default else ""
    if there and there != listed_description(target.skill().document):
        return f"it differs between {onto.default_branch} and this clone; update the clone (git pull)"
    return ""


def _offer(
    night: Night, target: Target, draft: DescriptionDraft, waiting: Version, requests: Sequence[PullRequest]
) -> BranchOffer:
    """Offer the description that waits, with what its commit says."""
    repository, into, name, opened = night.repository, night.tips, target.name, open_request(requests)
    onto = into.default or repository.head() or ""
    there, text = draft.text(onto) if onto else "", draft.text(waiting.sha)
    known_by = f"<!-- skillopt description: {digest_of(there, text)[:16]} -->"
    mark = f"<!-- skillopt text: {digest_of(text)[:16]} -->"
    moot = draft_obstacle(repository, target, draft.branch, waiting)
    body = "\n\n".join([*_body((there, text), waiting), f"{mark}\n{known_by}"])
    return BranchOffer(
        branch=draft.branch.name,
        seen=night.tips.of(DRAFT_BRANCHES, name),
        tip=waiting.sha,
        moot_reason=moot,
        waits=True,
        proven=False,
        opened=opened.number if opened else 0,
        mark=mark,
        known_by=known_by,
        title=_title(name, waiting),
        body=f"{comment_marker(name)}\n{body}\n",
    )


def _title(skill: str, version: Version) -> str:
    recall, wrongly = (_counts(version, name) for name in ("Recall", "False-Triggers"))
    if version.trailer("Gate") == NON_INFERIORITY:
        return f"{skill}: a shorter description, {recall[1]} held-out requests load it, {recall[0]} before"
    (before, after), words = (recall, "load it") if recall[0] != recall[1] else (wrongly, "load it wrongly")
    return f"{skill}: {before} → {after} held-out requests {words}, with a new description"


def _counts(version: Version, name: str) -> tuple[str, str]:
    """Read `0/7` and `7/7` of two trailers; a question mark where people wrote something else there."""
    texts = (version.trailer(f"{name}-Before"), version.trailer(f"{name}-After"))
    before, after = (text.replace("/", " of ") if _COUNTED.fullmatch(text) else "?" for text in texts)
    return before, after


def _body(texts: tuple[str, str], newest: Version) -> Iterator[str]:
    """Write the paragraphs of a pull request's text: the difference, and the commit's message as code."""
    yield "Only `description` in the frontmatter of `SKILL.md` changes."
    flat = [" ".join(text.split()) for text in texts]
    yield text_block(f"-{flat[0]}\n+{flat[1]}", "diff")
    yield "What its commit says; who wrote the description did not see the held-out requests:"
    trailers = [f"{name}: {text}" for name, text in newest.trailers if not name.endswith("-Digest")]
    yield text_block("\n".join([*newest.body.splitlines(), "", *trailers[:_MOST_ROWS]]))
    yield (
        "Close this pull request to refuse the description: training does not try it again. Opening it again takes "
        "that back."
    )
