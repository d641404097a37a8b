"""What may be claimed of an offered text against the default branch's: by its own run, or measured for it.

A run speaks for a text only where it compared the very two texts on the very suite; whatever has moved since is
measured by the change gate, and recorded, so that a night without changes pays nothing.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.drivers import load_drivers
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RunObserver
from skillopt.gate.comparison import Outcome, Verdict
from skillopt.gate.gate import resolvable_gain
from skillopt.gate.grades import Grade
from skillopt.gate.headline import VAL, headline_of_verdict, headline_of_versions
from skillopt.nightly.offered import OfferPlace
from skillopt.project import Project, Target
from skillopt.reports.before_after import DifferingTask, find_differing_tasks
from skillopt.reports.offer_view import OfferClaim, OfferView
from skillopt.reports.view import RunView
from skillopt.review.gate import Demand
from skillopt.review.result import Required, ReviewAnswer
from skillopt.rollouts import Usage
from skillopt.runs.change_measurement import ChangedTexts, ChangeMeasurement, measure_change
from skillopt.runs.plan import RunPlan, read_version
from skillopt.safety.credentials import mask
from skillopt.safety.escaping import truncate
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import decode_skill
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite

__all__ = ["ClaimSources", "Claimed", "claim"]

_MOST_TASKS: Final = 1000
_LONGEST: Final = 400
"""Characters of a reason why nothing could be measured."""

_BETTER: Final = Demand(Required.BETTER)


@dataclass(frozen=True, slots=True)
class ClaimSources:
    """What claims are made from."""

    project: Project
    target: Target
    ledger: Ledger
    observer: RunObserver
    allowance: Meter | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """What is offered with what is claimed of it, and the tasks that went differently where they were run for it."""

    view: OfferView
    changed: tuple[DifferingTask, ...] = ()
    measured: int = 0


def claim(sources: ClaimSources, place: OfferPlace, view: OfferView, views: Mapping[str, RunView]) -> Claimed:
    """Return what is shown of an offered text, measuring it where its own run does not say."""
    grading = None
    if view.versions and (run := views.get(view.versions[-1].run)) is not None:
        view = replace(view, run=run)
        texts = _compared_texts(sources, place, view, run)
        if texts is not None and (spoken := _by_its_run(sources, view, run, texts)) is not None:
            return Claimed(spoken)
        grading = view.versions[-1].grading if texts is not None and texts[0] == texts[1] else None
    try:
        suite = sources.target.suite()
        done = _measure(sources, place, suite)
    except SkilloptError as error:
        return Claimed(replace(view, unmeasured=truncate(mask(str(error)), _LONGEST)))
    if done.judged is None or (headline := headline_of_verdict(done.judged.verdict, VAL)) is None:
        return Claimed(replace(view, unmeasured=done.reason))
    verdict, better = done.judged.verdict, done.judged.answer is ReviewAnswer.PASSED
    # With folds the edits were learnt from the very tasks that they are measured on.
    best, where = (Grade.PROVEN_HERE, "these tasks") if suite.folds else (Grade.PROVEN, "new tasks like these")
    shown = f"{_counts(verdict)}: {'' if better else 'not '}shown to be better on {where}"
    usd = Usage.total(sources.ledger.spending(done.run).values()).usd
    found = OfferClaim(headline, verdict, shown, fresh=True, usd=usd, rollouts=done.rollouts)
    settings, tasks = sources.target.settings, suite.tasks(Split.VAL)
    grade = grading.grade if grading else best if better else Grade.UNPROVEN
    judged_on, gain = (grading.tasks, grading.gain) if grading else (len(tasks), verdict.gain)
    proof = "" if grade is Grade.PROVEN else _proof(judged_on, gain, settings)
    changed = find_differing_tasks(tasks, done.pairs, settings.metric)
    measured = len({one.task_id for one in done.pairs.before})
    return Claimed(replace(view, claim=found, grade=grade, grading=grading, proof=proof), changed, measured)


def _compared_texts(sources: ClaimSources, place: OfferPlace, view: OfferView, run: RunView) -> tuple[str, str] | None:
    """Return digests of the text that the newest version's run began with and of the default branch's.

    None where what is offered is not that version's text, or the suite is another one now.
    """
    record = sources.ledger.run(run.run)
    is_newest = _text(place, place.tip).digest == _text(place, view.versions[-1].commit).digest
    if not is_newest or record.suite_digest != _suite_digest(sources.target):
        return None
    return decode_skill(record.skill, record.start).digest, _text(place, place.base).digest


def _by_its_run(sources: ClaimSources, view: OfferView, run: RunView, texts: tuple[str, str]) -> OfferView | None:
    """Claim what the newest version's run measured; None where it compared with another text."""
    began, base = texts
    newest = view.versions[-1]
    grading = newest.grading
    found = _tested(run, began, base) if not view.draft else None
    if found is not None and found.verdict.outcome is Outcome.ACCEPT:
        return replace(view, claim=found, grade=Grade.PROVEN)
    if found is None and began == base:
        found = _drafted(run) if view.draft else _gated(run)
    if found is None:
        return None
    grade = grading.grade if grading else Grade.UNPROVEN
    unproven = grading is not None and grade is not Grade.PROVEN
    proof = _proof(grading.tasks, grading.gain, sources.target.settings) if grading and unproven else ""
    return replace(view, claim=found, grade=grade, grading=grading, proof=proof)


def _tested(run: RunView, began: str, base: str) -> OfferClaim | None:
    """Claim what the release check found, where it compared with the base."""
    if run.test is None or run.headline is None or (run.test.released or began) != base:
        return None
    verdict = run.test.verdict
    return OfferClaim(run.headline, verdict, f"On tasks that no step of training saw: {_counts(verdict)}")


def _gated(run: RunView) -> OfferClaim | None:
    taken = [gate.verdict for gate in run.gates if gate.version is not None]
    headline = headline_of_versions(taken, "" if run.folded else VAL)
    return OfferClaim(headline, taken[-1], _counts(taken[-1])) if taken and headline else None


def _drafted(run: RunView) -> OfferClaim | None:
    headline = run.draft.headline if run.draft else None
    gate = run.gates[-1] if run.gates else None
    return OfferClaim(headline, gate.verdict, _counts(gate.verdict)) if gate and headline else None


def _measure(sources: ClaimSources, place: OfferPlace, suite: Suite) -> ChangeMeasurement:
    target, root = sources.target, sources.project.root
    drivers = load_drivers(target.settings, suite, root, optimizer=False, allowance=sources.allowance)
    plan = RunPlan(target, suite, drivers, place.repository, place.path, "a person")
    change = ChangedTexts(_text(place, place.base), _text(place, place.tip), place.base)
    if change.before.digest == change.after.digest:
        raise UsageError(f"the text is the same as on {place.into}")
    return measure_change(plan, change, _BETTER, sources.ledger, sources.observer)


def _text(place: OfferPlace, commit: str) -> Skill:
    if not commit:
        return Skill(place.skill, SkillDocument(""))
    return read_version(place.repository, place.skill, commit, place.path, missing_ok=True)


def _suite_digest(target: Target) -> str:
    try:
        return target.suite().digest
    except SkilloptError:
        return ""


def _counts(verdict: Verdict) -> str:
    return f"{verdict.wins} better, {verdict.ties} equal, {verdict.losses} worse"


def _proof(tasks: int, gain: float, settings: Settings) -> str:
    """Return how many more tasks would prove a gain of this size, if none got worse."""
    if gain <= 0:
        return "No gain was seen, so more tasks like these would hardly prove one."

    def enough(count: int) -> bool:
        least = resolvable_gain(count, settings)
        return least is not None and least <= gain

    needed = bisect_left(range(1, _MOST_TASKS), x=True, key=enough) + 1
    if needed >= _MOST_TASKS:
        return "A gain of this size takes more tasks to prove than anybody has."
    if needed <= tasks:
        return "There are tasks enough to prove a gain of this size, were none worse."
    more = needed - tasks
    return f"About {more} more {'task' if more == 1 else 'tasks'} like these would prove a gain of this size."
