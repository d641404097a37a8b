"""What is recorded of a run, as its view is built from it: events, rollouts, splits and commits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skillopt.loop.events import Event, GateDecided, HeldOutTestMeasured, VersionAccepted
from skillopt.skills.document import Skill, SkillDocument
from skillopt.storage.ledger import ResultRow
from skillopt.tasks import Split

__all__ = ["RunRecords", "digests_of", "text_digest"]


@dataclass(frozen=True, slots=True)
class RunRecords:
    """What is recorded of a run."""

    start: Skill
    events: Sequence[tuple[str, Event]]
    results: Sequence[ResultRow] = ()
    splits: Mapping[str, Split] = field(default_factory=dict)
    commits: Mapping[int, str] = field(default_factory=dict)
    draft: tuple[str, ...] = ("", "")
    folds: tuple[frozenset[str], ...] = ()


def digests_of(start: Skill, events: Iterable[tuple[str, Event]]) -> tuple[str, ...]:
    """List the skills that a run compared on tasks that no edit was made from, whose rollouts a view needs."""
    found = [start.digest]
    for _, event in events:
        if isinstance(event, GateDecided | VersionAccepted) and event.text:
            found.append(text_digest(start, event.text))
        if isinstance(event, GateDecided):
            found += event.judged
        elif isinstance(event, HeldOutTestMeasured) and event.released:
            found.append(event.released)
    return tuple(dict.fromkeys(found))


def text_digest(start: Skill, text: str) -> str:
    """Identify the skill that training starts from with another SKILL.md."""
    return start.with_document(SkillDocument(text)).digest
