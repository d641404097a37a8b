"""What lies between the default branch and a skill's branch: versions, their edits, commits of people, dropped edits.

All of it is read from git; what edits fixed and what leaving them out showed is from the ledger, where that is at hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from skillopt.gate.headline import read_headline
from skillopt.reports.offer_view import (
    OfferedEdit,
    OfferedVersion,
    OfferView,
    PersonsCommit,
    TextConflict,
    label_lines,
    share_lines,
)
from skillopt.reports.view import RunView
from skillopt.runs.version_message import SIBLING, read_grading
from skillopt.safety.lint import find_marks, lint_change
from skillopt.safety.plurals import count_noun
from skillopt.skills.edits import Edit, Op
from skillopt.skills.folder import SKILL_FILE
from skillopt.versions.commit_message import Version
from skillopt.versions.decisions import Decisions, EditName, edits_of
from skillopt.versions.edit_history import EditLine, TextStep
from skillopt.versions.merging import find_conflicts
from skillopt.versions.repository import Repository, commits_between

__all__ = ["OfferPlace", "changed_by_people", "read_line", "read_offered", "suspicious_runs"]


@dataclass(frozen=True, slots=True)
class OfferPlace:
    """What is offered, and into what."""

    repository: Repository
    skill: str
    path: str
    branch: str
    tip: str
    into: str
    base: str

    def text(self, commit: str) -> str:
        """Read SKILL.md as a commit has it; empty where there is none."""
        files = self.repository.read_folder(commit, self.path) if commit else ()
        found = next((file.content for file in files if file.path == SKILL_FILE), b"")
        return found.decode("utf-8", "replace")


def read_line(place: OfferPlace) -> EditLine:
    """Read the commits of the skill that the default branch does not have."""
    return EditLine.read(place.repository, place.skill, place.path, place.tip, place.base)


def changed_by_people(place: OfferPlace, line: EditLine) -> tuple[PersonsCommit, ...]:
    """List the commits by which people changed the skill, oldest first; merges that took a side are none."""
    ours = {step.commit.sha for step in line.steps if step.commit.trailer("Skill") != place.skill}
    return tuple(
        PersonsCommit(one.commit.sha, one.author, one.commit.subject)
        for one in commits_between(place.repository, place.base, place.tip)
        if one.commit.sha in ours and all(place.text(one.commit.sha) != place.text(parent) for parent in one.parents)
    )


def read_offered(place: OfferPlace, line: EditLine, views: Mapping[str, RunView]) -> OfferView:
    """Describe what is offered, without what was measured of it."""
    before, after = place.text(place.base), place.text(place.tip)
    numbers = {one.key: one.number for one in line.edits}
    edits = [edit for step in line.steps for edit in _edits(step, views, numbers)]
    dropped = {one.key: one.edit for one in line.edits if one.dropped}
    refusals = Decisions(tuple(step.commit for step in reversed(line.steps))).refused_edits
    words = {one.key: one.word.by for one in refusals}
    conflicts = find_conflicts(place.repository, place.tip, place.base, place.path) if place.base else ()
    return OfferView(
        place.skill,
        place.branch,
        place.into,
        place.base,
        place.tip,
        before,
        after,
        versions=tuple(map(_version, line.versions)),
        edits=tuple(edits),
        lines=label_lines(before, after, edits),
        people=changed_by_people(place, line),
        dropped=tuple((edit.content or edit.anchor, words.get(key, "")) for key, edit in dropped.items()),
        conflicts=tuple(TextConflict(one.theirs, one.ours) for one in conflicts),
        flags=(
            *(finding.message.partition(";")[0] for finding in lint_change(before, after)),
            *map(str, find_marks(before, after)),
            *suspicious_runs(views),
        ),
        draft=place.branch.startswith("skillopt-draft/"),
    )


def _version(version: Version) -> OfferedVersion:
    cost, rollouts = version.trailer("Cost-USD"), version.trailer("Rollouts")
    return OfferedVersion(
        version.sha,
        version.subject,
        read_headline(dict(version.trailers)),
        read_grading(version.trailers),
        _number(cost) if cost else None,
        int(_number(rollouts) or 0),
        version.trailer("Skillopt-Run"),
        tuple(words for name, words in version.trailers if name == SIBLING),
    )


def suspicious_runs(views: Mapping[str, RunView]) -> tuple[str, ...]:
    """Return which runs have rollouts whose score may have been got without the work, a line for each."""
    return tuple(
        f"suspicious rollouts: {count_noun(len(view.suspicions), 'finding')} in run {view.run}: "
        f"{', '.join(dict.fromkeys(one.sign.value for one in view.suspicions))}"
        for view in views.values()
        if view.suspicions
    )


def _number(text: str) -> float | None:
    """Read a number of a trailer; None where people wrote something else there."""
    try:
        return float(text)
    except ValueError:
        return None


def _edits(step: TextStep, views: Mapping[str, RunView], numbers: Mapping[EditName, int]) -> list[OfferedEdit]:
    """List the edits of a version, with what its run tells of them."""
    shares = share_lines(step.before, step.after, step.edits) if step.edits else []
    view = views.get(step.commit.trailer("Skillopt-Run")) if edits_of(step.commit) else None
    recorded = {edit.id: edit for edit in view.edits} if view else {}
    found = []
    for (key, edit), (gone, come) in zip(step.named, shares, strict=True):
        known = recorded.get(edit.id)
        taken = edit.anchor if edit.op in (Op.DELETE, Op.REPLACE) else "\n".join(gone)
        found.append(
            OfferedEdit(
                numbers[key],
                str(key),
                edit.op.value,
                edit.section,
                taken,
                edit.content,
                gone,
                come,
                edit.rationale,
                edit.tasks,
                _fixed(view, edit) if view and known else (),
                _broke(view, edit) if view and known else (),
                known.elimination if known else None,
            )
        )
    return found


def _fixed(view: RunView, edit: Edit) -> tuple[str, ...]:
    """List the tasks it cites that passed or moved on in a patch test with it."""
    tests = [test for step in view.steps for test in step.patch_tests if edit.id in test.edits]
    moved = {task for test in tests for task in test.moved}
    return tuple(task for task in edit.tasks if task in moved)


def _broke(view: RunView, edit: Edit) -> tuple[str, ...]:
    """List the tasks that no longer passed in the gate that accepted it, where that was of this edit alone."""
    alone = [gate for gate in view.gates if gate.version is not None and gate.edits == (edit.id,)]
    return alone[-1].verdict.broken if alone else ()
