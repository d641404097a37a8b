"""What became of each proposed edit, followed from event to event: the last that befell it is its fate."""

from collections.abc import Collection
from dataclasses import replace

from skillopt.gate.comparison import Outcome
from skillopt.loop.events import (
    DraftChanged,
    DraftGraded,
    EditRefused,
    EditScreened,
    EditsGrounded,
    Event,
    GateDecided,
    PatchTested,
    VersionAccepted,
)
from skillopt.reports.edit_views import EditView, EliminationView, Fate, Funnel
from skillopt.skills.document import SkillDocument, estimate_tokens
from skillopt.skills.edits import Edit

__all__ = ["EditFates"]

_FATES = {Outcome.ACCEPT: Fate.ACCEPTED, Outcome.INCONCLUSIVE: Fate.INCONCLUSIVE}
_UNMOVED = "it moved none of the tasks that it cites"


class EditFates:
    """Follows the edits of a run."""

    def __init__(self, train: Collection[str] | None) -> None:
        self._train = train
        self._edits: dict[str, EditView] = {}
        self._support: dict[str, float] = {}
        self._tested: set[str] = set()
        self._gates = 0

    @property
    def views(self) -> tuple[EditView, ...]:
        """List all edits in the order in which they were first told of."""
        return tuple(self._edits.values())

    @property
    def funnel(self) -> Funnel:
        """Count how many edits came how far."""
        found = self.views
        return Funnel(
            len(found),
            sum(edit.fate is Fate.REFUSED for edit in found),
            len(self._tested),
            sum(edit.fate not in (Fate.REFUSED, Fate.UNMOVED, Fate.NOT_NEEDED) for edit in found),
            sum(edit.gate is not None for edit in found),
            sum(edit.fate is Fate.ACCEPTED for edit in found),
        )

    def note(self, event: Event, text: str) -> None:
        """Take in the next event of the run."""
        match event:
            case EditsGrounded():
                self._support |= dict(event.numbers)
            case EditRefused():
                self._refused(event, text)
            case PatchTested():
                self._patch_tested(event, text)
            case EditScreened():
                self._eliminated(event, text)
            case DraftChanged() | DraftGraded():
                self._drafted(event, text)
            case GateDecided() | VersionAccepted():
                self._judged(event, text)
            case _:
                pass

    def _refused(self, event: EditRefused, text: str) -> None:
        """Note why an edit is not taken up, or, where it was taken up before, why it goes."""
        before = self._edits.get(event.edit.id)
        if before is None:
            fate = Fate.REFUSED
        elif before.version is not None:  # the version has it, whatever the draft does
            return
        else:
            fate = before.fate if before.fate is Fate.UNMOVED else Fate.NOT_NEEDED
        known = self._known(event.edit, event.step, text)
        self._edits[known.id] = replace(known, fate=fate, reason=event.reason)

    def _patch_tested(self, event: PatchTested, text: str) -> None:
        """Note that edits were run; those that did something are told of again, by elimination or in the draft."""
        for edit in event.edits:
            self._tested.add(edit.id)
            known = self._known(edit, event.step, text)
            self._edits[edit.id] = replace(known, fate=Fate.UNMOVED, reason=_UNMOVED)

    def _eliminated(self, event: EditScreened, text: str) -> None:
        found = EliminationView(event.tasks, event.before, event.after, event.kept, event.reason)
        fate = Fate.JOINED if event.kept else Fate.NOT_NEEDED
        known = self._known(event.edit, event.step, text)
        self._edits[known.id] = replace(known, fate=fate, reason=event.reason, elimination=found)

    def _drafted(self, event: DraftChanged | DraftGraded, text: str) -> None:
        for change in event.changes:
            step = event.step if isinstance(event, DraftChanged) else 0
            known = replace(self._known(change.edit, step, text), diff=change.diff)
            if known.fate in (Fate.UNMOVED, Fate.NOT_NEEDED):  # it works beside others, or the run ended before a test
                known = replace(known, fate=Fate.JOINED, reason="")
            self._edits[known.id] = known

    def _judged(self, event: GateDecided | VersionAccepted, text: str) -> None:
        self._gates += isinstance(event, GateDecided)
        for change in event.changes:
            known = self._known(change.edit, event.step, text)
            if isinstance(event, VersionAccepted):
                known = replace(known, version=event.number)
            else:
                fate, reason = _FATES.get(event.verdict.outcome, Fate.REJECTED), event.verdict.reason
                known = replace(known, fate=fate, reason=reason, gate=self._gates, diff=change.diff)
            self._edits[known.id] = known

    def _known(self, edit: Edit, step: int, text: str) -> EditView:
        if edit.id in self._edits:
            return self._edits[edit.id]
        # A model may cite what it never saw; only tasks that it was shown can have motivated anything.
        cited = tuple(task for task in edit.tasks if self._train is None or task in self._train)
        found = _edit_view(replace(edit, tasks=cited), step, SkillDocument(text))
        return replace(found, support=self._support.get(edit.id))


def _edit_view(edit: Edit, step: int, document: SkillDocument) -> EditView:
    after = edit.content.strip("\n")
    before = "" if edit.op.value == "add" else edit.anchor
    place = document.text.find(edit.anchor, document.body_start) if edit.anchor else -1
    around = [section.title for section in document.sections if section.start <= place < section.end]
    return EditView(
        edit.id,
        step,
        edit.op.value,
        edit.section or (around[-1] if around else ""),
        edit.anchor,
        before,
        after,
        edit.rationale,
        edit.tasks,
        estimate_tokens(after),
        estimate_tokens(before),
        Fate.JOINED,
        "",
    )
