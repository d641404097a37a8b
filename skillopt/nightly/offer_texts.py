"""Title, text and page of what is offered from a branch, made of git, the ledger and what is measured for it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.drivers import Given, load_drivers
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RunObserver
from skillopt.figures import VAL, headline_of_verdict, headline_of_versions
from skillopt.gate.comparison import Pairs
from skillopt.gate.grades import Grade
from skillopt.loop.memory import PeoplesRefusal, find_reworded
from skillopt.project import Project, Target
from skillopt.reports.load_view import load_view
from skillopt.reports.markdown import cited
from skillopt.reports.offer import OfferClaim, OfferedEdit, OfferView
from skillopt.reports.rollouts import before_after_page, find_differing_tasks
from skillopt.reports.view import RunView
from skillopt.review.gate import Demand
from skillopt.review.result import Required, Standing, SuiteMeasurement
from skillopt.rollouts import Usage
from skillopt.runs.plan import RunPlan, read_version
from skillopt.runs.proposal import ChangedTexts, measure_change
from skillopt.runs.run import peoples_refusals, read_grading
from skillopt.safety.credentials import mask
from skillopt.safety.escaping import count_noun, truncate
from skillopt.safety.lint import find_marks, lint_change
from skillopt.skills.document import Skill, SkillDocument
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite
from skillopt.versions.branches import find_line_removal
from skillopt.versions.commit_message import commit_kind, target_words
from skillopt.versions.decisions import EditLine, NumberedEdit, text_at
from skillopt.versions.merging import merge_commits
from skillopt.versions.refusals import read_refusals, refusals_of
from skillopt.versions.repository import Repository

_MOST_LINES: Final = 40  # added lines of which history is asked whether people removed them
_LONGEST: Final = 400  # characters of a reason why nothing could be measured
_BETTER: Final = Demand(Required.BETTER)


@dataclass(frozen=True, slots=True)
class OfferPlace:
    """What is offered, into what, and what claims of it are made from."""

    project: Project
    repository: Repository
    target: Target
    ledger: Ledger
    observer: RunObserver
    branch: str
    tip: str
    into: str
    base: str
    allowance: Meter | None = None
    identity: str = ""

    @property
    def path(self) -> str:
        """The place of the skill in it."""
        return self.target.place(self.repository)

    def text(self, commit: str) -> str:
        """Read the text that is trained as a commit has it; empty where there is none."""
        return text_at(self.repository, self.path, commit) if commit else ""

    def skill(self, commit: str) -> Skill:
        """Read the skill as a commit has it; empty where there is none."""
        if not commit:
            return Skill(self.target.name, SkillDocument(""))
        return read_version(self.repository, self.target.name, commit, self.path, missing_ok=True)


def write_offer(place: OfferPlace) -> tuple[OfferView, str]:
    """Put together what is offered, measuring it where no run says what it would claim, and a page of that."""
    line = EditLine.read(place.repository, place.target.name, place.path, place.tip, place.base)
    views: dict[str, RunView] = {}
    for name in dict.fromkeys(version.trailer("Skillopt-Run") for version in line.versions):
        if run := place.ledger.find_run(name):
            with suppress(SkilloptError):
                views[name] = load_view(place.project, place.ledger, run)
    return _claim(place, _read_offered(place, line, views), views)


def _read_offered(place: OfferPlace, line: EditLine, views: Mapping[str, RunView]) -> OfferView:
    """Describe what is offered, without what was measured of it."""
    before, after = place.text(place.base), place.text(place.tip)
    told = refusals_of(place.repository, place.target.name)
    known = peoples_refusals(place.repository, told)
    words = {one.key: one.word.signature.removeprefix(" by ") for one in read_refusals(place.repository, told)}
    returned = _brought_back(place, before, after)
    conflicts = merge_commits(place.repository, place.tip, place.base, place.path)[1] if place.base else ()
    return OfferView(
        place.target.name,
        place.branch,
        place.into,
        place.base,
        tip=place.tip,
        before=before,
        after=after,
        versions=tuple(line.versions),
        edits=tuple(_edit(one, views, known, before) for one in line.edits if not (one.dropped or one.replaced)),
        dropped=tuple(
            (one.edit.content or one.edit.anchor, words.get(one.key, "")) for one in line.edits if one.dropped
        ),
        conflicts=tuple(conflicts),
        flags=(
            *(finding.message.partition(";")[0] for finding in lint_change(before, after)),
            *map(str, find_marks(before, after)),
            *returned,
            *(
                f"suspicious rollouts: {count_noun(len(view.suspicions), 'finding')} in run {view.run}: "
                f"{', '.join(dict.fromkeys(one.sign.value for one in view.suspicions))}"
                for view in views.values()
                if view.suspicions
            ),
        ),
        returned=returned,
        draft=place.branch.startswith("skillopt-draft/"),
        target=target_words(place.identity),
    )


def _brought_back(place: OfferPlace, before: str, after: str) -> tuple[str, ...]:
    """Say of each line that people took out on the default branch and that is there again which commit removed it."""
    known = {line.strip() for line in before.splitlines()}
    new = [line for line in dict.fromkeys(map(str.strip, after.splitlines())) if line and line not in known]
    found = ((line, find_line_removal(place.repository, place.base, place.path, line)) for line in new[:_MOST_LINES])
    return tuple(
        f"brings back what {by.sha[:10]} ({truncate(by.subject, 80)}) removed from {place.into}: {truncate(line, 120)}"
        for line, by in found
        if by is not None
    )


def _edit(
    named: NumberedEdit, views: Mapping[str, RunView], refused: Sequence[PeoplesRefusal], before: str
) -> OfferedEdit:
    """Describe an edit, with what its run tells of it: the tasks it cites that moved on in a patch test with it.

    Also who refused the same in other words, and why; a person who took the edit knew.
    """
    like = {} if commit_kind(named.version) == "taken" else find_reworded([named.edit], refused, SkillDocument(before))
    edit, view = named.edit, views.get(named.version.trailer("Skillopt-Run"))
    known = next((one for one in view.edits if one.edit.id == edit.id), None) if view else None
    tests = (test for test in view.patch_tests if edit.id in {one.id for one in test.edits}) if view and known else ()
    moved = {task for test in tests for task in test.moved}
    return OfferedEdit(
        named.number,
        named.key,
        edit,
        fixed=tuple(task for task in edit.tasks if task in moved),
        ablation=known.ablation if known else None,
        refused=next(
            (f"{cited(one.told, _LONGEST)} (then: {cited(one.edit.content, _LONGEST)})" for _, one in like.values()), ""
        ),
    )


def _claim(place: OfferPlace, view: OfferView, views: Mapping[str, RunView]) -> tuple[OfferView, str]:
    """Return what is shown of an offered text, measuring it where its own run does not say, and a page of that."""
    grading, target = None, place.target
    if view.versions and (run := views.get(view.versions[-1].trailer("Skillopt-Run"))) is not None:
        view = replace(view, run=run)
        texts = _compared_texts(place, view, run)
        if texts is not None and (spoken := _by_its_run(view, run, texts)) is not None:
            return spoken, ""
        grading = read_grading(view.versions[-1].trailers) if texts is not None and texts[0] == texts[1] else None
    try:
        suite = target.suite()
        done, pairs = _measure(place, suite)
    except SkilloptError as error:
        return replace(view, unmeasured=truncate(mask(str(error)), _LONGEST)), ""
    verdict = done.judged.verdict if done.judged else None
    if done.judged is None or verdict is None or (headline := headline_of_verdict(verdict, VAL)) is None:
        return replace(view, unmeasured=done.reason), ""
    better = done.judged.answer is Standing.PASSED
    # With folds the edits were learnt from the very tasks that they are measured on.
    best, where = (Grade.PROVEN_HERE, "these tasks") if suite.folds else (Grade.PROVEN, "new tasks like these")
    shown = f"{'Shown' if better else 'Not shown'} to be better on {where}"
    spent = Usage.total(place.ledger.spending(done.run).values())
    found = OfferClaim(headline, verdict, shown, spent=spent, rollouts=done.rollouts)
    grade = grading.grade if grading else best if better else Grade.LIKELY
    changed = find_differing_tasks(suite.tasks(Split.VAL), pairs, target.settings.metric)
    told, count = f"{headline.words}. {shown}.", len({one.task_id for one in pairs.before})
    page = before_after_page(view.skill, (view.into, view.branch), told, count, changed)
    return replace(view, claim=found, grade=grade, grading=grading), page


def _compared_texts(place: OfferPlace, view: OfferView, run: RunView) -> tuple[str, str] | None:
    """Return digests of the text that the newest version's run began with and of the default branch's.

    None where what is offered is not that version's text, as its run made it, or the suite is another one now.
    """
    newest, suite = place.skill(place.tip), ""
    with suppress(SkilloptError):
        suite = place.target.suite().digest
    made = {one.text for one in (*run.versions, run.draft) if one is not None}
    is_newest = newest.digest == place.skill(view.versions[-1].sha).digest and newest.document.text in made
    return (run.versions[0].digest, place.skill(place.base).digest) if is_newest and run.suite_digest == suite else None


def _by_its_run(view: OfferView, run: RunView, texts: tuple[str, str]) -> OfferView | None:
    """Claim what the newest version's run measured, its release check first; None where it compared another text."""
    (began, base), grading, test = texts, read_grading(view.versions[-1].trailers), run.test
    if not view.draft and test is not None and run.headline is not None and (test.released or began) == base:
        found = OfferClaim(run.headline, test.verdict, "On tasks that no step of training saw")
        if test.verdict.accepted:
            return replace(view, claim=found, grade=Grade.PROVEN)
    elif began != base:
        return None
    else:
        taken = run.gates[-1:] if view.draft else run.taken_gates
        headline = run.draft.headline if view.draft and run.draft else None
        if not view.draft:
            place = "" if run.folded or run.shrunk else VAL
            headline = headline_of_versions([gate.verdict for gate in taken], place)
        if not taken or headline is None:
            return None
        found = OfferClaim(headline, taken[-1].verdict)
    return replace(view, claim=found, grade=grading.grade if grading else Grade.LIKELY, grading=grading)


def _measure(place: OfferPlace, suite: Suite) -> tuple[SuiteMeasurement, Pairs]:
    target, root = place.target, place.project.root
    drivers = load_drivers(target.settings, suite, root, Given(allowance=place.allowance), optimizer=False)
    plan = RunPlan(target, suite, drivers, place.repository, skill_path=place.path, proposer="a person")
    change = ChangedTexts(place.skill(place.base), place.skill(place.tip), place.base)
    if change.before.digest == change.after.digest:
        raise UsageError(f"the text is the same as on {place.into}")
    return measure_change(plan, change, _BETTER, place.ledger, place.observer)
