"""A run with its versions and draft in git, which its recorded events alone decide, so that a rerun changes nothing."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from textwrap import fill, indent
from typing import Final

from skillopt.errors import SkilloptError, VersionConflictError
from skillopt.execution.recording import Recording
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.figures import (
    VAL,
    Headline,
    comparison_words,
    headline_of_verdict,
    headline_trailers,
    name_grade,
    read_gain,
)
from skillopt.gate.error_budget import ERROR_SPENT
from skillopt.gate.grades import GRADE, Against, Grade, Grading, gain_words
from skillopt.loop.draft import find_held
from skillopt.loop.events import (
    DraftChanged,
    DraftGraded,
    Event,
    GateDecided,
    LinesReviewed,
    RunEnded,
    RunStarted,
    StepFailed,
    TextScreened,
    VersionAccepted,
    decode_event,
    gained_by_draft,
    newest_draft,
)
from skillopt.loop.memory import PeoplesRefusal, find_reworded
from skillopt.project import Target
from skillopt.review.gate import ChangeGate, Demand
from skillopt.review.result import Standing
from skillopt.rollouts import Usage
from skillopt.runs.plan import RunPlan, read_version, uncommitted_start
from skillopt.safety.escaping import escape_terminal
from skillopt.settings import Settings
from skillopt.skills.document import SkillDocument, estimate_tokens
from skillopt.skills.edits import Change, Edit, Op
from skillopt.skills.folder import decode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import is_locked, mark_unreported
from skillopt.versions.branches import DraftBranch
from skillopt.versions.commit_message import ACCEPTED, DESCRIPTION, NEEDS_A_PERSON, Version, disarm
from skillopt.versions.decisions import edit_trailers, edits_of, needed_trailers
from skillopt.versions.refusals import read_refusals
from skillopt.versions.repository import NewVersion, Repository

_RUN: Final = "Skillopt-Run"
_ELSEWHERE: Final = "further harness"

_MOST_REFUSALS: Final = 200  # the newest; every edit is compared with each


@dataclass(frozen=True, slots=True)
class DraftState:
    """The draft that a run ended with."""

    branch: str
    commit: str
    grading: Grading | None
    note: str = ""
    replaced: str = ""
    marks: tuple[str, ...] = ()

    @property
    def offered(self) -> bool:
        """Whether it waits on its branch, and people are asked to take it."""
        return bool(self.commit) and self.grading is not None and self.grading.offered


class RecordedRun(Recording):
    """Keeps what a run yields, commits its versions, and publishes the draft that it ends with."""

    def __init__(self, plan: RunPlan, ledger: Ledger, record: RunRecord, watch: RunObserver) -> None:
        super().__init__(ledger, record, drivers=plan.drivers, settings=plan.target.settings, watch=watch)
        self.commits: list[str] = []
        self.draft: DraftState | None = None
        self._plan = plan
        self._tip = record.base
        self._started_at = ""
        self._spent = 0.0
        self._needed: list[Edit] = []

    def drive(self, events: Iterable[Event]) -> tuple[list[Event], RunEnded]:
        """Run to the end; where there are further harnesses, what is accepted is a draft until they measured it."""
        return super().drive(self._with_further(events) if self._plan.further else events)

    def _with_further(self, events: Iterable[Event]) -> Iterator[Event]:
        """Tell of versions at the end of the run; where a further harness does worse, their text stays a draft."""
        held: list[VersionAccepted] = []
        waiting: DraftChanged | DraftGraded | None = None
        for event in events:
            changes = tuple(change for version in held for change in version.changes)
            match event:
                case VersionAccepted():
                    held.append(event)
                    waiting = None
                    yield DraftChanged(event.step, event.text, (*changes, *event.changes))
                case DraftChanged() | DraftGraded() if held:
                    waiting = newest_draft([event])
                    yield replace(event, changes=(*changes, *event.changes))
                case RunEnded() if held:
                    last, start, (worse, asked) = held[-1], self.skill.digest, self._measure_elsewhere(held[-1])
                    ended = replace(event, rollouts=event.rollouts + asked)
                    if worse:
                        yield StepFailed(last.step, _ELSEWHERE, worse)
                        yield (
                            DraftGraded(last.text, changes, last.grading, start, last.rollouts)
                            if last.grading
                            else DraftChanged(last.step, last.text, changes)
                        )
                        yield replace(ended, reason=f"the text stays a draft: {worse}")
                    else:
                        yield from [*held, *([waiting] if waiting else []), ended]
                        held, waiting = [], None
                case _:
                    yield event

    def _measure_elsewhere(self, version: VersionAccepted) -> tuple[str, int]:
        """Return with which further harness a text is worse than the first one, or not measured, and the rollouts."""
        plan, after, asked = self._plan, self.skill.with_document(SkillDocument(version.text)), 0
        error = (1.0 - self.settings.confidence) / len(plan.further)
        settings = self.settings.model_copy(update={"confidence": 1.0 - error})
        for name, drivers in zip(settings.targets[1:], plan.further, strict=True):
            runner = RecordedRunner(self._ledger, self.record.id, drivers, self._watch)
            gate = ChangeGate(self.skill, after, suite=plan.suite, settings=settings, runner=runner, demand=Demand())
            ended = next(event for event in gate.events() if isinstance(event, RunEnded))
            asked += ended.rollouts
            self.runner.paid_rollouts += runner.paid_rollouts
            self.runner.usage += runner.usage
            if gate.judged is None or gate.judged.answer is Standing.REFUSED:
                return f"with {name}: {ended.reason}", asked
            self._watch.notice(f"with {name}: {ended.reason}")
        return "", asked

    def recorded(self, event: Event, at: str) -> None:
        """Commit an accepted version that is recorded; at the end, publish the draft."""
        if isinstance(event, RunStarted):
            self._started_at = at
        elif isinstance(event, GateDecided):
            self._spent += event.verdict.error_spent
        elif isinstance(event, TextScreened):
            self._needed += _needed([event])
        elif isinstance(event, VersionAccepted):
            self._commit(event, at)
            self._spent = 0.0
        elif isinstance(event, RunEnded):
            mark_unreported(self._ledger.path.parent.parent, self.record.id)
            self.draft = _publish_draft(self._plan.repository, self._ledger, self.record)

    def interrupted(self) -> None:
        """Publish the draft as it is, ungraded; the run that goes on grades it."""
        try:
            self.draft = _publish_draft(self._plan.repository, self._ledger, self.record)
        except SkilloptError as error:  # what ended the run is told first
            self._watch.notice(f"the draft was not published: {error}")
            return
        if self.draft is not None:
            self._watch.notice(
                self.draft.note or f"the draft so far is on branch {self.draft.branch}, ungraded; the run continues it"
            )

    def _commit(self, event: VersionAccepted, at: str) -> None:
        """Commit an accepted version, and before the first one the text it started from if git lacks it."""
        plan, record = self._plan, self.record
        # Our last commit, or for the first one where the branch was; a branch that is not there is made.
        expected = None if plan.repository.branch_tip(record.skill) is None else self._tip
        if not self.commits and (start := uncommitted_start(plan.repository, record, self._started_at)) is not None:
            self._tip = plan.repository.write_commit(start)
        new = version_of(record, event, at, self._tip, (self.runner.usage, self._spent))
        trailers = (*new.trailers, *needed_trailers(self._needed))
        self._tip = plan.repository.commit_version(replace(new, trailers=trailers, expected_tip=expected))
        self.commits.append(self._tip)


def _publish_draft(repository: Repository, ledger: Ledger, record: RunRecord) -> DraftState | None:
    branch = DraftBranch(repository, record.skill, record.skill_path)
    events = [(row.at, decode_event(row.kind, row.payload)) for row in ledger.events(record.id)]
    draft = newest_draft(event for _, event in events)
    grading = draft.grading if isinstance(draft, DraftGraded) else None
    unfit = f"it is {name_grade(grading)}" if grading is not None and grading.grade is Grade.WORSE else ""
    try:
        before = branch.read()
        is_own = before is not None and before.trailer(_RUN) == record.id
        if draft and before is not None and before.trailer("Kind") == DESCRIPTION and not became_version(branch):
            advice = f"`skillopt take {record.skill}`, or `skillopt decline {record.skill} draft`, then train again"
            return DraftState(branch.name, "", grading, f"a trained description waits on {branch.name}: {advice}")
        if draft is None or unfit:
            if is_own or became_version(branch):
                branch.remove()
            return None if draft is None else DraftState(branch.name, "", grading, unfit)
        commit = branch.publish(_draft_version(repository, record, draft, events))
    except VersionConflictError as error:
        return DraftState(branch.name, "", grading, str(error))
    replaced = ""
    if record.kind != "training" and before is not None and not is_own:
        there = {_digest(branch, sha) for sha in (commit, repository.branch_tip(record.skill)) if sha}
        known, new = (
            {edit.summary for edit in edits} for edits in (edits_of(before), [one.edit for one in draft.changes])
        )
        replaced = "" if (known and known <= new) or _digest(branch, before.sha) in there else before.sha
    return DraftState(
        branch=branch.name,
        commit=commit,
        grading=grading,
        replaced=replaced,
        marks=repository.commit(commit).values(NEEDS_A_PERSON),
    )


def peoples_refusals(repository: Repository, told: str) -> tuple[PeoplesRefusal, ...]:
    """List the newest edits that people refused, oldest first, from the object that holds them."""
    found = read_refusals(repository, told)[-_MOST_REFUSALS:]
    return tuple(PeoplesRefusal(one.edit, one.word.reason, one.word.by, one.word.pull_request) for one in found)


def open_draft(root: Path, repository: Repository, target: Target) -> DraftBranch:
    """Return the branch of a skill's draft, and publish the draft of a run that was killed before it could."""
    skill = target.name
    if (root / ".skillopt" / "ledger.db").exists():
        with closing(Ledger.open(root, read_only=True)) as ledger:
            newest = next((run for run in ledger.runs(skill) if run.kind == "training"), None)
            if newest is not None and newest.state == "running" and not is_locked(root, skill):
                _publish_draft(repository, ledger, newest)
    return DraftBranch(repository, skill, target.place(repository))


def became_version(branch: DraftBranch) -> bool:
    """Return whether the newest commit of a skill's versions has the text of its draft."""
    tip = branch.repository.branch_tip(branch.skill)
    return bool(branch.tip and tip) and _digest(branch, branch.tip or "") == _digest(branch, tip or "")


def draft_obstacle(repository: Repository, target: Target, branch: DraftBranch, draft: Version) -> str:
    """Return why a draft cannot become a version, empty when it can: its figures are about other texts."""
    if not branch.is_ours(draft.sha):
        return (
            f"expected {branch.name} as training wrote it, found a person's commit ({draft.sha[:10]}) that was never "
            "measured; merge it by hand, or measure it first with `skillopt gate`"
        )
    tip = repository.branch_tip(target.name)
    now = target.skill().digest if tip is None else _digest(branch, tip)
    place = f"branch skillopt/{target.name}" if tip else str(target.folder)
    if now == _digest(branch, draft.sha):
        return f"{place} already has the text of the draft; there is nothing to take"
    if now != _digest(branch, draft.parent):
        return (
            f"the draft was measured against {draft.parent[:10]}, and {place} has changed since; train again with "
            f"`skillopt optimize {target.name}`, or review it with `skillopt diff {target.name} draft`"
        )
    return ""


def _digest(branch: DraftBranch, commit: str) -> str:
    return read_version(branch.repository, branch.skill, commit, branch.path, missing_ok=True).digest


def _draft_version(
    repository: Repository, record: RunRecord, draft: DraftChanged | DraftGraded, events: Sequence[tuple[str, Event]]
) -> NewVersion:
    parent = _incumbent(repository, record, events)
    before = read_version(repository, record.skill, parent, record.skill_path, missing_ok=True)
    flagged = next((event.flagged for _, event in reversed(events) if isinstance(event, LinesReviewed)), ())
    refused = peoples_refusals(repository, record.refusals)
    again = find_reworded([change.edit for change in draft.changes], refused, before.document).values()
    marks = find_held(before.text, draft.text, Settings.model_validate(record.settings), flagged, tuple(again))
    at, before_it = next((at, last) for (_, last), (at, event) in reversed([*pairwise(events)]) if event is draft)
    elsewhere = [before_it.reason] if isinstance(before_it, StepFailed) and before_it.stage == _ELSEWHERE else []
    grading, rollouts = (draft.grading, draft.rollouts) if isinstance(draft, DraftGraded) else (None, 0)
    subject, measured = f"draft, {_subject(draft.changes)}", gained_by_draft(event for _, event in events)
    trailers = (
        *_grade_trailers(grading, measured),
        *(headline_trailers(measured, "Draft") if measured else ()),
        *([("Rollouts", str(rollouts))] if rollouts else []),
        *((NEEDS_A_PERSON, disarm(escape_terminal(f"{mark.kind.value}, {mark}"))) for mark in marks),
        *((NEEDS_A_PERSON, disarm(escape_terminal(reason))) for reason in elsewhere),
        *_token_trailers(record, draft.text),
        *needed_trailers(_needed(event for _, event in events)),
    )
    told = f"{measured.words}; {name_grade(grading)}." if measured else f"{name_grade(grading)}."
    return _commit(record, draft, (at, parent), (subject, told), trailers)


def _needed(events: Iterable[Event]) -> list[Edit]:
    """Write the text that tasks need as the deletions that a run gave up."""
    needed = (event for event in events if isinstance(event, TextScreened) and event.tasks)
    return [Edit(f"u{event.line}", Op.DELETE, event.text, tasks=event.tasks) for event in needed]


def _incumbent(repository: Repository, record: RunRecord, events: Sequence[tuple[str, Event]]) -> str:
    own = (one for one in repository.versions(record.skill) if one.trailer(_RUN) == record.id and one.trailer(ACCEPTED))
    if any(isinstance(event, VersionAccepted) for _, event in events) and (newest := next(own, None)):
        return newest.sha
    began = next((at for at, event in events if isinstance(event, RunStarted)), "")
    start = uncommitted_start(repository, record, began)
    return record.base if start is None else repository.write_commit(start)


_Trailers = Sequence[tuple[str, str]]
"""(key, value) pairs at the end of a commit's message."""

_WIDTH = 72  # of a commit message, as git indents it
_VERBS = {Op.ADD: "add", Op.REPLACE: "replace", Op.DELETE: "remove", Op.REWRITE: "rewrite"}


def version_of(
    record: RunRecord, event: VersionAccepted, at: str, parent: str, used: tuple[Usage, float]
) -> NewVersion:
    """Return the commit of an accepted version; used are the usage of its run and the error spent for it."""
    verdict, (usage, spent) = event.verdict, used
    subject, measured = _subject(event.changes), headline_of_verdict(verdict)
    least = f"at least {usage.at_least:.2f}" if usage.at_least else "unknown"
    place = "" if record.kind == "shrink" else VAL
    result = f"{comparison_words(verdict, place)}; {len(verdict.fixed)} fixed, {len(verdict.broken)} broken."
    reason = "" if place else f" {verdict.reason[0].upper()}{verdict.reason[1:]}."
    trailers = (
        ("Skillopt-Step", str(event.step)),
        *(() if event.grading is None else _grade_trailers(event.grading, measured)),
        *headline_trailers(measured),
        ("Wins-Ties-Losses", f"{verdict.wins}/{verdict.ties}/{verdict.losses}"),
        ("Confidence", f"{verdict.confidence:.3f}"),
        (ERROR_SPENT, f"{spent:.4f}"),
        ("Rollouts", str(event.rollouts)),
        ("Cost-USD", least if usage.usd is None else f"{usage.usd:.2f}"),
        *_token_trailers(record, event.text),
    )
    return _commit(record, event, (at, parent), (subject, result + reason), trailers)


def _commit(
    record: RunRecord,
    event: VersionAccepted | DraftChanged | DraftGraded,
    place: tuple[str, str],
    said: tuple[str, str],
    trailers: _Trailers,
) -> NewVersion:
    """Make the commit of a text; its message explains each edit with its reason, then says what was shown."""
    (at, parent), (subject, result) = place, said
    _, harness, model, *_ = json.loads(record.config)
    return NewVersion(
        skill=record.skill,
        path=record.skill_path,
        files=decode_skill(record.skill, record.start).with_document(SkillDocument(event.text)).shipped,
        at=at,
        parent=parent,
        subject=f"{record.skill}: {subject}",
        body="\n\n".join([*(_paragraph(change.edit) for change in event.changes), fill(result, _WIDTH)]),
        trailers=(
            ("Skill", record.skill),
            ("Skillopt-Run", record.id),
            *trailers,
            ("Harness", harness),
            ("Optimizer-Model", model),
            ("Suite-Digest", record.suite_digest),
            *edit_trailers([change.edit for change in event.changes]),
        ),
    )


def _subject(changes: Sequence[Change]) -> str:
    if not changes:
        return "renew the durable guidance"
    counts = Counter(change.edit.op for change in changes)
    parts = [f"{_VERBS[op]} {'a rule' if count == 1 else f'{count} rules'}" for op in Op if (count := counts[op])]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _paragraph(edit: Edit) -> str:
    where = " > ".join(filter(None, (edit.file, edit.section)))
    place = f" in {disarm(escape_terminal(where))}" if where else ""
    old, new = (indent(disarm(text.strip()), "    ") for text in (edit.anchor, edit.content))
    shown = {Op.ADD: new, Op.REWRITE: new, Op.DELETE: old, Op.REPLACE: f"{old}\n\nby:\n\n{new}"}[edit.op]
    tasks = f" (tasks {', '.join(edit.tasks[:6])}{', …' if len(edit.tasks) > 6 else ''})" if edit.tasks else ""  # noqa: PLR2004 - a few are enough to look further
    reason = fill(f"{disarm(escape_terminal(edit.rationale.strip())) or 'No reason was given.'}{tasks}", _WIDTH)
    return f"{_VERBS[edit.op].capitalize()}{place}:\n\n{shown}\n\n{reason}"


def _token_trailers(record: RunRecord, text: str) -> _Trailers:
    if record.kind != "shrink":
        return ()
    sizes = decode_skill(record.skill, record.start).text, text
    return tuple(zip(("Tokens-Before", "Tokens-After"), (str(estimate_tokens(one)) for one in sizes), strict=True))


_AGAINST: Final = "Grade-Against"


def _grade_trailers(grading: Grading | None, measured: Headline | None = None) -> tuple[tuple[str, str], ...]:
    """Write a grade; the gain is that of the comparison, where there was one."""
    if grading is None:
        return ((GRADE, Grade.CANNOT_TELL.value),)
    return (
        (GRADE, grading.grade.value),
        *((("Probability", f"{grading.probability:.3f}"),) if grading.probability is not None else ()),
        *((("Gain", gain_words(grading.gain, grading.low, grading.high)),) if measured is None else ()),
        ("Tasks-Judged", str(grading.tasks)),
        ("Tasks-Changed", str(grading.changed)),
        *(((_AGAINST, grading.against.value),) if grading.against else ()),
    )


def read_grading(trailers: _Trailers) -> Grading | None:
    """Read a grade with its figures; None where a commit has none, or people changed them."""
    found, grade = dict(trailers), grade_of(trailers)
    gain = read_gain(found.get("Gain", ""))
    if grade is None or gain is None:
        return None
    try:
        return Grading(
            grade=grade,
            probability=float(found["Probability"]) if "Probability" in found else None,
            gain=gain[0],
            low=gain[1],
            high=gain[2],
            tasks=int(found["Tasks-Judged"]),
            changed=int(found["Tasks-Changed"]),
            against=Against(found.get(_AGAINST, "")),
        )
    except (KeyError, ValueError):
        return None


def grade_of(trailers: _Trailers) -> Grade | None:
    """Read a grade without its figures; None where a commit has none."""
    return next((grade for grade in Grade if grade.value == dict(trailers).get(GRADE)), None)
