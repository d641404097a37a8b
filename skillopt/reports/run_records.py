"""What is recorded of a run, as its view is built from it: events, rollouts, splits and commits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skillopt.errors import EditError
from skillopt.loop.events import Event, GateDecided, HeldOutTestMeasured, VersionAccepted
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Change, apply_edits
from skillopt.storage.ledger import ResultRow
from skillopt.tasks import Split

__all__ = ["RunRecords", "digests_of", "judged_digests", "text_digest"]


@dataclass(frozen=True, slots=True)
class RunRecords:
    """What is recorded of a run.

    Args:
        start: The skill that training starts from.
        events: Its events in order, each with when it was first recorded.
        results: What the recorded rollouts of its skills came to.
        splits: The suite's tasks in order, by id; empty when the suite is not at hand.
        commits: Commits by the number of the version; 0 is the text that training starts from.
        draft: Commit of its draft, and the version that a person made of it; each empty for none.
        folds: Ids of the tasks of two folds that taught and judged in turn; empty for fixed splits.
    """

    start: Skill
    events: Sequence[tuple[str, Event]]
    results: Sequence[ResultRow] = ()
    splits: Mapping[str, Split] = field(default_factory=dict)
    commits: Mapping[int, str] = field(default_factory=dict)
    draft: tuple[str, str] = ("", "")
    folds: tuple[frozenset[str], ...] = ()


def digests_of(
    start: Skill, events: Iterable[tuple[str, Event]], folds: Sequence[frozenset[str]] = ()
) -> tuple[str, ...]:
    """List the skills that a run compared on tasks that no edit was made from, whose rollouts a view needs.

    Args:
        start: The skill that training starts from.
        events: Of the run.
        folds: As in `RunRecords`.
    """
    found = [start.digest]
    for _, event in events:
        if isinstance(event, GateDecided | VersionAccepted) and event.text:
            found += [text_digest(start, event.text), *judged_digests(start, event.changes, folds)]
        elif isinstance(event, HeldOutTestMeasured) and event.released:
            found.append(event.released)
    return tuple(dict.fromkeys(found))


def judged_digests(start: Skill, changes: Iterable[Change], folds: Sequence[frozenset[str]]) -> tuple[str, ...]:
    """Identify for each fold the skill that was run on its tasks in the place of the joined one.

    It has only the edits that were not made from the fold. A run with folds has one gate, against its start.

    Args:
        start: The skill that training starts from.
        changes: Of the joined draft.
        folds: As in `RunRecords`.
    """
    edits = [change.edit for change in changes]
    found = []
    for fold in folds:
        try:
            patch = apply_edits(start.document, [edit for edit in edits if fold.isdisjoint(edit.tasks)])
        except EditError:  # the joined draft has them one after the other
            return ()
        found.append(start.with_document(patch.document).digest)
    return tuple(found)


def text_digest(start: Skill, text: str) -> str:
    """Identify the skill that training starts from with another SKILL.md."""
    return start.with_document(SkillDocument(text)).digest
