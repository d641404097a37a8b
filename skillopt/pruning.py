"""Pruning: which line that was taken up lately breaks tasks that passed before, and its deletion.

Owns the search for the culprit, by adaptive group testing (Dorfman 1943; Hwang 1972): all suspects are removed
together, and while that mends a task the group is halved. A line that is found so is deleted only if its deletion,
alone, passes the screen like any other edit. Does not own who is suspected (drafts) or the screen (screening).
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from skillopt.documents import Skill
from skillopt.drafts import Draft
from skillopt.edit_checks import check_edits, join_edits
from skillopt.edits import Change
from skillopt.events import EditScreened, Event, SuspectsTried
from skillopt.ports import RolloutRequest, Runner
from skillopt.screening import Screened, screen
from skillopt.settings import Settings
from skillopt.tasks import Task

__all__ = ["Pruner"]


class Pruner:
    """Deletes lines that break tasks.

    Args:
        runner: Runs rollouts.
        settings: Most suspects, whether they are tried in groups, and what the screen asks for.
    """

    def __init__(self, runner: Runner, settings: Settings) -> None:
        self._runner = runner
        self._settings = settings

    def prune(self, step: int, draft: Draft, failing: Sequence[Task], trial: int) -> Iterator[Event]:
        """Where tasks have regressed, look for the line that broke them, and delete it where that mends them.

        Args:
            step: Where in the run this is.
            draft: What may lose a line.
            failing: Tasks that it failed just now.
            trial: One that no earlier rollout of these tasks had; the screen has those after it.
        """
        broken = self._broken(draft, failing, trial)
        suspects = draft.suspects([task.id for task in broken], self._settings.prune_lines)
        deletions = [replace(edit, id=f"s{step}{edit.id}") for edit in suspects]
        alone, _ = check_edits(draft.skill.document, deletions, self._settings.allow)
        if self._settings.prune_groups:
            alone, broken = yield from self._search(step, draft.skill, alone, broken, trial)
        if not alone:
            return
        known = {task.id: (task, 0.0) for task in broken}
        found = screen(self._runner, draft.skill, alone, known, self._settings, trial + 1)
        best = max((one for one in found if one.kept), key=_gain, default=None)
        for one in found:
            yield EditScreened(step, one.change.edit, one.tasks, one.before, one.after, one is best, one.reason)
        draft.take([best.change.edit] if best else [])

    def _broken(self, draft: Draft, failing: Sequence[Task], trial: int) -> list[Task]:
        """Run what has regressed once more, since most of it failed by noise; give the tasks that fail again."""
        regressed = draft.regressed([task.id for task in failing]) if self._settings.prune_lines else ()
        tasks = [task for task in failing if task.id in regressed]
        for rollout in self._runner.rollouts([RolloutRequest(draft.skill, task, trial) for task in tasks]):
            if rollout.score is not None:
                draft.note(rollout.task_id, passed=rollout.score.passed)
        return [task for task in tasks if task.id in draft.failing]

    def _search(
        self, step: int, skill: Skill, suspects: Sequence[Change], broken: Sequence[Task], trial: int
    ) -> Generator[Event, None, tuple[tuple[Change, ...], list[Task]]]:
        """Remove suspects together, then the newer half of those that mended something, until one is left.

        Each look has the trial in which the draft failed just now, so that it differs by the lines alone. Where the
        newer half mends nothing, the older one is not looked at: the screen of the line that is left decides anyway.

        Returns:
            The line that is left, none if removing them all mends nothing; and the tasks that it seems to have broken.
        """
        group, tasks = tuple(suspects), list(broken)
        if len(group) > 1:
            tasks = yield from self._look(step, skill, group, tasks, trial)
            group = tuple(change for change in group if _cites(change, tasks))
        while len(group) > 1:
            newer, older = group[: len(group) // 2], group[len(group) // 2 :]
            mended = yield from self._look(step, skill, newer, tasks, trial)
            group, tasks = (newer, mended) if mended else (older, tasks)
            group = tuple(change for change in group if _cites(change, tasks))
        return group, tasks

    def _look(
        self, step: int, skill: Skill, group: Sequence[Change], tasks: Sequence[Task], trial: int
    ) -> Generator[Event, None, list[Task]]:
        """Give the tasks that pass without the lines of a group; one that could not be measured does not."""
        wanted = [task for task in tasks if any(_cites(change, [task]) for change in group)]
        without, _ = join_edits(skill.document, group, self._settings.allow)
        removed = skill.with_document(without.document)
        found = self._runner.rollouts([RolloutRequest(removed, task, trial) for task in wanted])
        mended = [
            task
            for task, rollout in zip(wanted, found, strict=True)
            if rollout.score is not None and rollout.score.passed
        ]
        lines = tuple(change.edit.anchor for change in group)
        yield SuspectsTried(step, lines, tuple(task.id for task in wanted), tuple(task.id for task in mended))
        return mended


def _cites(change: Change, tasks: Sequence[Task]) -> bool:
    return any(task.id in change.edit.tasks for task in tasks)


def _gain(one: Screened) -> float:
    return one.after - one.before
