"""Two folds that swap roles: what was learned on one is judged on the other, and both drafts are joined."""

from collections.abc import Iterable, Sequence

from skillopt.loop.caps import CappedRunner
from skillopt.loop.draft import Draft, Line
from skillopt.loop.edit_checks import Refusal
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Rollout
from skillopt.skills.document import Skill
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import Task

__all__ = ["CrossFoldRunner", "drop_edits", "join_lines", "lines_left_out"]


class CrossFoldRunner:
    """Runs, in the place of the joined draft, on each task the draft that was not learned from it.

    So a gate on all tasks compares texts with tasks that their edits were not derived from. A fold without a draft
    leaves the tasks of the other one as they are: ties.
    """

    def __init__(self, runner: CappedRunner, folds: Sequence[Sequence[Task]]) -> None:
        self._runner = runner
        self._fold_of = {task.id: number for number, fold in enumerate(folds) for task in fold}
        self._drafts: dict[str, tuple[Skill, ...]] = {}

    def set_drafts(self, joined: Skill, drafts: Iterable[Skill]) -> None:
        """Return which drafts stand behind the joined one."""
        self._drafts[joined.digest] = tuple(drafts)

    def judged(self, joined: Skill) -> tuple[str, ...]:
        """Return the digests of what runs on the tasks of each fold in the place of the joined draft."""
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


def join_lines(joined: Draft, drafts: Sequence[Draft]) -> list[Skill]:
    """Make the lines of both folds those of the joined draft; list what each fold's draft is with these lines alone.

    A line that stands there already is left out, and so is one whose text a line of the other fold replaces. Of the
    orders tried, the one that keeps lines for the most tasks counts: added lines mostly fit into a rewritten section.
    """
    lines: dict[tuple[str, ...], Line] = {}
    for draft in drafts:
        for line in draft.lines:
            lines.setdefault(_said(line.edit), line)
    forwards = list(lines.values())
    backwards = [line for draft in reversed(drafts) for line in draft.lines if line in forwards]
    orders = (forwards, backwards, sorted(forwards, key=lambda line: line.edit.op is not Op.REWRITE))
    joined.set(max(map(joined.fitting, orders), key=_mended))
    there = {_said(line.edit) for line in joined.lines}
    return [draft.build([line for line in draft.lines if _said(line.edit) in there]) for draft in drafts]


def lines_left_out(joined: Draft, drafts: Sequence[Draft]) -> list[Line]:
    """List the lines of folds that the joined draft does not say."""
    there = {_said(line.edit) for line in joined.lines}
    return [line for draft in drafts for line in draft.lines if _said(line.edit) not in there]


def drop_edits(draft: Draft, refused: Sequence[Refusal]) -> list[Refusal]:
    """Take the lines out of a draft that say what was refused, under whatever id; give them with the reasons."""
    reasons = {_said(edit): reason for edit, reason in refused}
    gone = [(line.edit, reasons[_said(line.edit)]) for line in draft.lines if _said(line.edit) in reasons]
    if gone:
        draft.set([line for line in draft.lines if _said(line.edit) not in reasons])
    return gone


def _said(edit: Edit) -> tuple[str, ...]:
    """Return what makes two edits the same."""
    return edit.op.value, edit.anchor, edit.section, edit.content.strip()


def _mended(lines: Sequence[Line]) -> tuple[int, int]:
    """Count the tasks that lines are cited for, and the lines."""
    return len({name for line in lines for name in line.targets}), len(lines)
