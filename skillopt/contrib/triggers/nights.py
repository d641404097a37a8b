"""What a night does about descriptions: it trains those that are due, and says what is offered of them.

It comes after the training of all skills' bodies, with what they left of the night's budget. The text of a pull
request is read from git alone.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from skillopt.contrib.triggers.branch import NON_INFERIORITY, DescriptionBranch, why_description_due
from skillopt.contrib.triggers.plan import TriggerAsk, has_requests, plan_triggers
from skillopt.contrib.triggers.run import description_basis, train_triggers
from skillopt.errors import BusyError, SkilloptError, SuiteError, UsageError
from skillopt.execution.metering import Meter
from skillopt.gate.grades import GRADE, Grade
from skillopt.nightly.handover import SkillOffers, SkillReview
from skillopt.nightly.night import SkillNight, Training, with_failure
from skillopt.nightly.offers import Night
from skillopt.nightly.posting import BranchOffer, closed_by_people, open_request
from skillopt.project import Selection, Target
from skillopt.protocols import PullRequest
from skillopt.reports.markdown import comment_marker, text_block
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.locks import writer_lock
from skillopt.storage.notes import read_basis
from skillopt.tasks import digest_of
from skillopt.versions.branches import DESCRIPTION_BRANCHES
from skillopt.versions.commit_message import DECLINED_DESCRIPTION, UNDECLINED, UNDECLINED_DESCRIPTION, Version
from skillopt.versions.decisions import PersonsWord

_MOST_ROWS: Final = 60
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
                rows[number], offer = _turn(night, selection, target, row)
        except BusyError:
            rows[number] = replace(row, described="its description waits: another run trains the skill")
            continue
        except SkilloptError as error:
            rows[number] = with_failure(row, error)
            continue
        if offer is not None:
            known = next((one for one in night.offers if one.skill == row.skill), None)
            made = known or SkillOffers(skill=row.skill, name=target.name)
            others = [one for one in night.offers if one is not known]
            night.offers[:] = [*others, made.model_copy(update={"description": offer})]


def _turn(night: Night, selection: Selection, target: Target, row: SkillNight) -> tuple[SkillNight, BranchOffer | None]:
    """Do what people said of a description, train it if it is due, and say what is offered of it."""
    review = night.review.of(row.skill)
    if night.remote and night.tips:
        there = night.tips.of(DESCRIPTION_BRANCHES, target.name)
        night.remote.fast_forward(target.name, there, DESCRIPTION_BRANCHES)
    branch = DescriptionBranch(night.repository, target.name, night.repository.relative(target.folder))
    row = replace(row, answers=(*row.answers, *_settle(night, branch, review)))
    if has_requests(selection):
        if review.ignored is None:
            row = _train(night, selection, target, row)
        else:
            said = f"{review.ignored.by} asked for that in {review.ignored.url}"
            row = replace(row, described=f"its description is left alone: {said}")
    offer = _offer(night, branch, review.descriptions)
    if offer is not None and review.ignored:
        nothing = {"unfit_reason": "it is left alone", "moot_reason": "", "title": "", "body": ""}
        offer = offer.model_copy(update=nothing)
    return row, offer


def _settle(night: Night, branch: DescriptionBranch, review: SkillReview) -> Iterator[str]:
    """Decline what people closed, and take back what they opened again."""
    if not review.descriptions or branch.tip is None:
        return
    at, onto = datetime.now(UTC).isoformat(timespec="seconds"), night.default_branch.commit
    with writer_lock(night.project.root, branch.skill):
        for one in filter(closed_by_people, review.descriptions):
            if one.head in _refusable(branch, onto):
                closing = review.closing(one)
                branch.decline(PersonsWord.said(closing.by, closing.reason, one.url), at, onto)
                yield f"#{one.number} was closed by people: its description is declined, training does not try it again"
        newest = review.descriptions[0]
        wanted, url = branch.declined_last
        if newest.state == "open" and wanted and url == newest.url:
            branch.undecline(PersonsWord.said("", "", newest.url), at)
            yield f"#{newest.number} was opened again: its description is the newest again"


def _refusable(branch: DescriptionBranch, onto: str) -> set[str]:
    """List the commits whose pull request declines what is offered now when people close it."""
    line, offered = branch.line, {one.sha for one in branch.offered(onto)}
    # Whoever closes the pull request of one that is wanted after all says so of the commit that brought it back.
    again = {sha for one in line for sha in one.values(UNDECLINED)}
    newest = {one.sha for one in line[:1] if offered and one.values(UNDECLINED)}
    return (offered - again) | newest


def _train(night: Night, selection: Selection, target: Target, row: SkillNight) -> SkillNight:
    """Train a description that is due, within the remaining budget."""
    ask = TriggerAsk(selection)
    try:
        basis, branch = description_basis(plan_triggers(ask))
        known = read_basis(night.project.root, target.name)
        trained = [*([known] if known else []), *branch.bases()]
        due = why_description_due(basis, trained)
        if not due:
            return row
        if waits := night.why_waiting() or _why_outdated(night, target, branch):
            return replace(row, described=f"its description waits: {waits}")
        meter = night.remaining.meter_for(most=target.settings.max_rollouts or 0)
        night.observer.notice(f"{target.name}: {due}")
        return _spent(night, ask, meter, replace(row, described=due))
    except SuiteError:
        raise
    except UsageError as error:
        return replace(row, described=f"its description was not trained: {error}")


def _spent(night: Night, ask: TriggerAsk, meter: Meter, row: SkillNight) -> SkillNight:
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
    return row.with_usage(meter)


def _why_outdated(night: Night, target: Target, branch: DescriptionBranch) -> str:
    """Return why a description is not trained from the text that this clone has; empty when it is."""
    onto, there = night.default_branch, ""
    with suppress(SkilloptError):
        there = branch.text(onto.commit) if onto.commit else ""
    if there and there != listed_description(target.skill().document):
        return f"it differs between {onto.name} and this clone; update the clone (git pull)"
    return ""


def _offer(night: Night, branch: DescriptionBranch, requests: Sequence[PullRequest]) -> BranchOffer | None:
    """Return what is offered of a skill's newest trained description, None where its branch does not exist.

    A description that people refused is never offered again, whatever commit it is in.
    """
    repository, name = night.repository, branch.skill
    tip = repository.ref_tip(f"{DESCRIPTION_BRANCHES}{name}")
    if tip is None:
        return None
    into, line = night.default_branch, branch.line
    onto = into.commit or repository.head() or ""
    kind, opened = line[0].trailer("Kind") if line else "", open_request(requests)
    made = BranchOffer(
        branch=branch.name,
        seen=night.tips.of(DESCRIPTION_BRANCHES, name) if night.tips else "",
        tip=tip,
        decided=kind in (DECLINED_DESCRIPTION, UNDECLINED_DESCRIPTION),
        opened=opened.number if opened else 0,
    )
    if not line:
        unfit = "its newest commit is of a person, so its text is left as it is"
        return made.model_copy(update={"unfit_reason": unfit})
    there, text, offered = branch.text(onto) if onto else "", branch.text(tip), branch.offered(onto)
    if text == there:
        declined = kind == DECLINED_DESCRIPTION
        moot = "its description was declined" if declined else f"{into.name} has this description"
        return made.model_copy(update={"moot_reason": moot})
    if not offered or branch.before(offered[-1]) != there:
        moot = f"the description was changed on {into.name} beside it, so it was measured against one that is gone"
        return made.model_copy(update={"moot_reason": moot})
    # One that people wanted after all may be offered though it was refused before.
    mark = "" if kind == UNDECLINED_DESCRIPTION else f"<!-- skillopt text: {digest_of(text)[:16]} -->"
    known_by = f"<!-- skillopt description: {digest_of(there, text)[:16]} -->"
    body = "\n\n".join([*_body(into.name, (there, text), offered), "\n".join(filter(None, (mark, known_by)))])
    said = {
        "proven": offered[0].trailer(GRADE) in ("", Grade.PROVEN.value),
        "mark": mark,
        "known_by": known_by,
        "title": _title(name, offered[0]),
        "body": f"{comment_marker(name)}\n{body}\n",
    }
    return made.model_copy(update=said)


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


def _body(into: str, texts: tuple[str, str], offered: Sequence[Version]) -> Iterator[str]:
    """Write the paragraphs of a pull request's text: the difference, and the commit's message as code."""
    newest = offered[0]
    yield "Only `description` in the frontmatter of `SKILL.md` changes."
    flat = [" ".join(text.split()) for text in texts]
    yield text_block(f"-{flat[0]}\n+{flat[1]}", "diff")
    if len(offered) > 1:
        yield (
            f"This is the newest of {len(offered)} descriptions that {into} does not have. It was measured against the "
            f"one before it on this branch, not against {into}'s."
        )
    yield "What its commit says; who wrote the description did not see the held-out requests:"
    trailers = [f"{name}: {text}" for name, text in newest.trailers if not name.endswith("-Digest")]
    yield text_block("\n".join([*newest.body.splitlines(), "", *trailers[:_MOST_ROWS]]))
    yield (
        "Close this pull request to refuse the description: training does not try it again. Opening it again takes "
        "that back."
    )
