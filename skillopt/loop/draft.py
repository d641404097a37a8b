"""The draft: the incumbent with the edits that wait for the gate, and how train tasks went under it."""

from collections.abc import Collection, Iterable

from skillopt.errors import EditError
from skillopt.skills.document import Skill
from skillopt.skills.edits import Change, Edit, apply_edits

__all__ = ["Draft"]


class Draft:
    """A skill in training.

    Args:
        incumbent: What was accepted last, or training starts from.
    """

    def __init__(self, incumbent: Skill) -> None:
        self.incumbent = self.skill = incumbent
        self.pending: tuple[Change, ...] = ()
        self._edits: list[Edit] = []
        self._solved: dict[str, int] = {}
        self._failing: dict[str, int] = {}
        self._seen: set[str] = set()

    def take(self, edits: Iterable[Edit]) -> None:
        """Take up edits one after the other; one that does not fit what is there by now is left out."""
        for edit in edits:
            try:
                patch = apply_edits(self.skill.document, [edit])
            except EditError:
                continue
            self.skill = self.skill.with_document(patch.document)
            self.pending += patch.changes
            self._edits.append(edit)

    def accept(self, candidate: Skill) -> None:
        """Make an accepted candidate the incumbent, which the draft then is, too."""
        self.incumbent = self.skill = candidate
        self.pending = ()

    def drop(self) -> None:
        """Go back to the incumbent."""
        del self._edits[len(self._edits) - len(self.pending) :]
        self.skill, self.pending = self.incumbent, ()
        self._void(len(self._edits))

    def without(self, names: Collection[str]) -> tuple[Skill, list[Edit]]:
        """Give the draft with some waiting edits left out, and the edits that are in it.

        An edit that does not fit without them is left out, too.
        """
        skill, kept = self.incumbent, []
        for edit in self.waiting:
            if edit.id in names:
                continue
            try:
                skill = skill.with_document(apply_edits(skill.document, [edit]).document)
            except EditError:
                continue
            kept.append(edit)
        return skill, kept

    def leave_out(self, names: Collection[str]) -> list[Edit]:
        """Take some waiting edits out again, and with them those that do not fit without them; give both."""
        before, since = self.waiting, len(self._edits) - len(self.pending)
        _, kept = self.without(names)
        gone = [edit for edit in before if edit not in kept]
        if gone:
            self._void(since + before.index(gone[0]))
        del self._edits[since:]
        self.skill, self.pending = self.incumbent, ()
        self.take(kept)
        return gone

    def _void(self, since: int) -> None:
        """Forget what passed with edits that are gone, from the first of them on."""
        self._seen -= {task for task, at in self._solved.items() if at > since}
        self._solved = {task: at for task, at in self._solved.items() if at <= since}

    def record_outcome(self, task: str, *, passed: bool) -> None:
        """Note how a train task went under the draft as it is."""
        self._seen.add(task)
        if passed:
            self._solved[task] = len(self._edits)
            self._failing.pop(task, None)
        else:
            self._failing[task] = self._failing.get(task, 0) + 1

    def steady(self, task: str) -> bool:
        """Say whether a task passed under the draft as it is when it was run last."""
        return task not in self._failing and self._solved.get(task, -1) == len(self._edits)

    @property
    def waiting(self) -> list[Edit]:
        """List the edits that wait for the gate."""
        return [change.edit for change in self.pending]

    @property
    def failing(self) -> Collection[str]:
        """Give the tasks that failed when they were run last."""
        return self._failing.keys()

    @property
    def stubborn(self) -> Collection[str]:
        """Give the tasks that failed more than once since they passed, if they ever did."""
        return {task for task, times in self._failing.items() if times > 1}

    @property
    def seen(self) -> int:
        """Count the tasks that were ever run."""
        return len(self._seen)
