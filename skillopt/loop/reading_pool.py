"""The edits of all readings of one step, each once, with what the replies said of failures."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from skillopt.loop.candidates import advantages, value_of
from skillopt.loop.events import EditsGrounded, EditUnreadable, Event, FailuresNamed, PatchesCompared, PromptSkipped
from skillopt.prompts.failure_kinds import NamedFailure, TaskFailureKind, kind_of
from skillopt.prompts.proposed_edits import ProposedEdit, Reflection, Unread
from skillopt.skills.edits import Edit

__all__ = ["EditKey", "ReadingPool"]

EditKey: TypeAlias = tuple[str, ...]
"""What makes an edit the same edit."""


@dataclass(slots=True)
class ReadingPool:
    """What the readings of one step came to."""

    edits: dict[EditKey, ProposedEdit] = field(default_factory=dict)
    patches: list[tuple[str, tuple[EditKey, ...]]] = field(default_factory=list)
    kinds: dict[EditKey, TaskFailureKind] = field(default_factory=dict)
    failures: dict[str, NamedFailure] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    skipped: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    shown: tuple[str, ...] = ()

    def note(self, replies: Sequence[Reflection], shown: Collection[str]) -> None:
        """Note what replies say of kinds, and what in them could not be read; a task that was not shown has no kind."""
        for reply in replies:
            stated = zip(reply.edits, reply.kinds, strict=True)
            self.kinds |= {edit.key: kind for edit, kind in stated if kind is not None}
            self.failures |= {failure.task: failure for failure in reply.failures if failure.task in shown}
            self.unread += reply.unread

    def take(self, reading: str, edits: Sequence[ProposedEdit]) -> None:
        """Take up a candidate patch; an edit that is there already cites the tasks of both."""
        for edit in edits:
            known = self.edits.get(edit.key, edit)
            tasks = tuple(dict.fromkeys((*known.cited, *edit.cited)))
            self.edits[edit.key] = known if tasks == known.cited else known.model_copy(update={"tasks": tasks})
        self.patches.append((reading, tuple(dict.fromkeys(edit.key for edit in edits))))

    def advantages(self, edits: Mapping[EditKey, Edit], numbers: Mapping[str, float]) -> tuple[float, ...]:
        """Return the advantage of each candidate patch in its group."""
        return advantages([value_of([edits[key].id for key in keys], numbers) for _, keys in self.patches])

    def gained(self, edits: Mapping[EditKey, Edit], numbers: Mapping[str, float]) -> dict[str, float]:
        """Return by edit id the advantage of the best candidate patch that has the edit."""
        found = self.advantages(edits, numbers) if self.patches else ()
        return {
            edit.id: max(gain for gain, (_, keys) in zip(found, self.patches, strict=True) if key in keys)
            for key, edit in edits.items()
        }

    def findings(self, step: int, edits: Mapping[EditKey, Edit], numbers: Mapping[str, float]) -> Iterator[Event]:
        """Yield what there is to report of one step."""
        named = {failure.task: failure.kind for failure in self.failures.values()}
        kinds = {edit.id: kind_of(self.kinds.get(key), edit.tasks, named) for key, edit in edits.items()}
        if named or any(kinds.values()):
            told = tuple((name, kind.value) for name, kind in kinds.items() if kind is not None)
            yield FailuresNamed(step, tuple((task, kind.value) for task, kind in named.items()), told)
        for tasks, reason in self.skipped:
            yield PromptSkipped(step, reason, tasks)
        for text, reason in self.unread:
            yield EditUnreadable(step, text, reason)
        if edits:
            yield EditsGrounded(step, tuple(numbers.items()))
        if len(self.patches) > 1:
            names = (name for name, _ in self.patches)
            yield PatchesCompared(step, tuple(zip(names, self.advantages(edits, numbers), strict=True)))
