"""Two folds that swap roles: what was learned on one is judged on the other, and both drafts are joined."""

from collections.abc import Iterable, Sequence

from skillopt.loop.caps import CappedRunner
from skillopt.loop.draft import Draft, Line
from skillopt.loop.edit_checks import Refusal
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Rollout
from skillopt.skills.document import Skill
from skillopt.skills.edits import Edit
from skillopt.tasks import Task

__all__ = ["CrossFoldRunner", "drop_edits", "join_lines"]


class CrossFoldRunner:
    """Runs, in the place of the joined draft, on each task the draft that was not learned from it.

    So a gate on all tasks compares texts with tasks that their edits were not derived from. A fold without a draft
    leaves the tasks of the other one as they are: ties.

    Args:
        runner: Runs rollouts.
        folds: The tasks of both.
    """

    def __init__(self, runner: CappedRunner, folds: Sequence[Sequence[Task]]) -> None:
        self._runner = runner
        self._fold_of = {task.id: number for number, fold in enumerate(folds) for task in fold}
        self._drafts: dict[str, tuple[Skill, ...]] = {}

    def set_drafts(self, joined: Skill, drafts: Iterable[Skill]) -> None:
        """Say which drafts stand behind the joined one.

        Args:
            joined: The draft that is compared.
            drafts: Of each fold.
        """
        self._drafts[joined.digest] = tuple(drafts)

    def judged(self, joined: Skill) -> tuple[str, ...]:
        """Give the digests of what runs on the tasks of each fold in the place of the joined draft."""
        return tuple(draft.digest for draft in reversed(self._drafts.get(joined.digest, ())))

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run rollouts; a text is run once where both sides are the same."""
        wanted = [self._crossed(request) for request in requests]
        keys = [(request.skill.digest if request.skill else "", request.task.id, request.repeat) for request in wanted]
        unique = dict(zip(keys, wanted, strict=True))
        found = dict(zip(unique, self._runner.rollouts(list(unique.values())), strict=True))
        return tuple(found[key] for key in keys)

    def replies(self, prompts: Iterable[str], schema: str = "") -> tuple[Reply, ...]:
        """Ask the optimizer model, which knows no folds."""
        return self._runner.replies(prompts, schema)

    def _crossed(self, request: RolloutRequest) -> RolloutRequest:
        drafts = self._drafts.get(request.skill.digest) if request.skill else None
        if not drafts:
            return request
        own = self._fold_of[request.task.id]
        return RolloutRequest(drafts[1 - own], request.task, request.repeat)


def join_lines(joined: Draft, drafts: Sequence[Draft]) -> None:
    """Make the lines of both folds those of the joined draft; one that stands there already is left out.

    Args:
        joined: The draft of the run.
        drafts: Of each fold, with the same incumbent.
    """
    lines: list[Line] = []
    said: set[tuple[str, ...]] = set()
    for draft in drafts:
        for line in draft.lines:
            if _said(line.edit) not in said:
                said.add(_said(line.edit))
                lines.append(line)
    joined.set(lines)


def drop_edits(draft: Draft, refused: Sequence[Refusal]) -> list[Refusal]:
    """Take the lines out of a draft that say what was refused, under whatever id; give them with the reasons."""
    reasons = {_said(edit): reason for edit, reason in refused}
    gone = [(line.edit, reasons[_said(line.edit)]) for line in draft.lines if _said(line.edit) in reasons]
    if gone:
        draft.set([line for line in draft.lines if _said(line.edit) not in reasons])
    return gone


def _said(edit: Edit) -> tuple[str, ...]:
    """Give what makes two edits the same."""
    return edit.op.value, edit.anchor, edit.section, edit.content.strip()
