"""Measure a new upstream text with learned edits: leave out what it made needless, then compare it with two texts.

The old version says whether anything is lost, the new upstream alone whether the edits still gain something. The
edits were chosen by these tasks, so the verdict runs all three texts afresh.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from skillopt.errors import UsageError
from skillopt.gate.comparison import Outcome, Pairs, Verdict, compare_pairs, has_partial_scores, task_gains
from skillopt.gate.grades import Against, Grade, Grading, Prior, estimate_grading
from skillopt.gate.headline import compared_words
from skillopt.gate.non_inferior import LOSS_ERROR, Look, judge_loss, plan_looks
from skillopt.loop import events
from skillopt.loop.caps import BudgetReached, CappedRunner, TrainRollouts
from skillopt.loop.course import Answerer, go
from skillopt.loop.draft import Draft, Line, find_held
from skillopt.loop.evidence import TrainEvidence
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout, Stream
from skillopt.settings import GateRule, Settings
from skillopt.shrink.carry import Carried, Fate
from skillopt.shrink.search import Search, find_needed, measure_start
from skillopt.shrink.shrinking import shrink_tasks
from skillopt.shrink.units import Unit
from skillopt.skills.document import Skill
from skillopt.tasks import Suite, Task

__all__ = ["IN_OTHER_WORDS", "UPDATE", "Update", "least_for_update", "reapply"]

UPDATE: Final = "update"
"""Kind of the events of a text that was moved to a new upstream."""

IN_OTHER_WORDS: Final = f"{Fate.THERE} in other words"
"""Reason of an edit that is not needed and whose words the new upstream shares."""

_MARGIN: Final = 0.10
"""Least margin against the old version, as where a draft builds on a proven version: noise hides a smaller one."""

_TEXTS: Final = 3
_AT_A_TIME: Final = 3
_NOISY_REPEATS: Final = 2


@dataclass(frozen=True, slots=True)
class Update:
    """The old version, the new upstream, the same with the frontmatter that is to ship, and what was learned."""

    old: Skill
    upstream: Skill
    start: Skill
    carried: tuple[Carried, ...]


def least_for_update(tasks: int) -> int:
    """Return the smallest cap: the whole, the upstream alone, and three texts in the verdict."""
    return (2 + _TEXTS) * tasks


def reapply(update: Update, suite: Suite, settings: Settings, runner: Runner) -> Iterator[events.Event]:
    """Ablate the edits that were applied to a new upstream, and judge the rest, as events.

    Raises:
        UsageError: The cap is too small for a verdict; nothing was spent.
    """
    tasks, cap = shrink_tasks(suite), settings.max_rollouts
    if cap is not None and cap < (least := least_for_update(len(tasks))):
        raise UsageError(
            f"expected max_rollouts of at least {least} to update with {len(tasks)} tasks (once each for all edits, "
            f"for the new upstream alone, and for three texts of the verdict), found {cap}; raise it"
        )
    capped = CappedRunner(runner, settings, 0, _TEXTS * len(tasks), place="the ablation")
    yield events.RunStarted(update.upstream.name, update.upstream.digest, suite.name, suite.digest, 1)
    try:
        reason, accepted = yield from _Reapplying(update, tasks, settings, capped).run()
        reached = False
    except BudgetReached as end:
        reason, accepted, reached = str(end), 0, True
    yield events.RunEnded(reason, accepted, capped.rollouts_asked, capped.calls_asked, capped=reached)


class _Reapplying:
    """One run."""

    def __init__(self, update: Update, tasks: Sequence[Task], settings: Settings, runner: CappedRunner) -> None:
        self.update, self.tasks, self.settings, self.runner = update, tasks, settings, runner
        self.draft = Draft(update.start)
        self.draft.set([Line(one.edit) for one in update.carried if one.fate is Fate.APPLIED])
        draw = Random(f"{settings.seed}/update")
        lines = enumerate(line.edit.content or line.edit.anchor for line in self.draft.lines)
        units = tuple(Unit("", text, at, at, at, "", -1) for at, text in lines)
        self.search = Search(TrainEvidence(self.draft.skill, tasks, draw), units, self._without)
        self.order = draw.sample(list(tasks), len(tasks))

    def run(self) -> Generator[events.Event, None, tuple[str, int]]:
        """Return why it ended, and how many versions were accepted."""
        for one in self.update.carried:
            if one.fate is not Fate.APPLIED:
                yield events.EditRefused(1, one.edit, f"{one.fate}: {one.note}")
        yield events.DraftChanged(1, self.draft.skill.text, self.draft.pending)
        if self.draft.lines:
            answers = Answerer(self.runner.replies, TrainRollouts(self.runner, Stream.LEARNING).measure)
            yield from go([measure_start(self.search)], answers)
            telling = self._telling
            if not telling:
                return f"all {len(self.tasks)} tasks fail under the new upstream with the edits: nothing is shown", 0
            for at in range(0, len(telling), _AT_A_TIME):
                yield from go([find_needed(self.search, name) for name in telling[at : at + _AT_A_TIME]], answers)
            yield from self._screened()
        verdict, grading = self._judge()
        return (yield from self._hand_over(verdict, grading))

    def _without(self, out: Sequence[Unit]) -> Skill:
        gone = {unit.start for unit in out}
        return self.draft.build([line for at, line in enumerate(self.draft.lines) if at not in gone])

    @property
    def _telling(self) -> list[str]:
        """List the tasks that pass with all edits, so that what one of them needs can be told."""
        return [one.id for one in self.order if one.id in self.search.passed and one.id not in self.search.failing]

    def _screened(self) -> Iterator[events.Event]:
        """Tell of each edit, and keep those that a task needs and those of which no task can tell."""
        alike = {one.edit.id: one.alike for one in self.update.carried}
        telling, kept = set(self._telling), list[Line]()
        for unit, line in zip(self.search.units, self.draft.lines, strict=True):
            edit, needed = line.edit, tuple(self.search.needed.get(unit, ()))
            stays = bool(needed) or not telling & set(edit.tasks)
            reason = "a task fails without it" if needed else "none of its tasks can tell whether it is needed"
            if stays:
                kept.append(line)
            else:
                same = alike[edit.id]
                reason = f"{IN_OTHER_WORDS}: {same}" if same else "its tasks pass without it"
            yield events.EditScreened(1, replace(edit, tasks=needed or edit.tasks), len(needed), 0, 0, stays, reason)
        self.draft.set(kept)
        yield events.DraftChanged(1, self.draft.skill.text, self.draft.pending)

    def _measure(self, texts: Sequence[Skill]) -> list[list[Rollout]]:
        self.runner.release()
        affordable = max(1, self.runner.left // (len(texts) * len(self.tasks)))
        repeats = min(_NOISY_REPEATS if self.search.noisy else 1, affordable)
        wanted = [(task, Stream.UPDATE.repeat(one)) for one in range(repeats) for task in self.order]
        found = self.runner.rollouts([RolloutRequest(text, task, repeat) for text in texts for task, repeat in wanted])
        return [list(found[at : at + len(wanted)]) for at in range(0, len(found), len(wanted))]

    def _judge(self) -> tuple[Verdict, Grading]:
        """Compare the text with the old version and, where edits are left, with the new upstream alone."""
        update, settings, draft = self.update, self.settings, self.draft
        own = draft.skill.digest != update.upstream.digest
        old, upstream, *rest = self._measure([update.old, update.upstream, *([draft.skill] if own else [])])
        merged = rest[0] if own else upstream
        against_old = compare_pairs(Pairs(old, merged), settings, GateRule.STRICT, "verdict")
        verdict = compare_pairs(Pairs(upstream, merged), settings, GateRule.PAIRED, "verdict") if own else against_old
        tasks = len(self.order)
        planned = plan_looks(tasks, noisy=self.search.noisy)
        margin = max(_MARGIN, planned[0].margin) if planned else 0.0
        look = Look(tasks, margin, LOSS_ERROR, self.search.noisy)
        lost = task_gains(old, merged, settings.metric)
        loss = judge_loss([lost.get(task.id) for task in self.order], look)
        claim = f"less than {margin:.0%} of tasks passed is lost" if planned else "too few tasks for a verdict"
        said = f"{claim}, p = {loss.p_value:.3f}" if loss.shown else f"not shown: {claim}"
        reason = f"old version → this text: {compared_words(against_old)}, {said}"
        if own:
            reason += f"; new upstream → this text: {compared_words(verdict)}, {verdict.reason}"
        accepted = loss.shown and (not own or verdict.outcome is Outcome.ACCEPT)
        partial = has_partial_scores([*old, *upstream, *merged], settings.metric)
        against = Against.UPSTREAM if own and loss.shown else Against.OLD
        gains = (lost if against is Against.OLD else task_gains(upstream, merged, settings.metric)).values()
        grade = Grade.PROVEN_HERE if accepted else Grade.UNPROVEN
        # What is left was seen to be needed edit by edit, so nothing speaks for no effect at all.
        grading = estimate_grading(grade, gains, Prior(null=0.0), partial=partial, against=against)
        outcome = Outcome.ACCEPT if accepted else Outcome.INCONCLUSIVE
        return replace(verdict, outcome=outcome, reason=reason), replace(grading, reason=reason)

    def _hand_over(self, verdict: Verdict, grading: Grading) -> Generator[events.Event, None, tuple[str, int]]:
        text, changes, asked = self.draft.skill.text, self.draft.pending, self.runner.rollouts_asked
        accepted = verdict.outcome is Outcome.ACCEPT
        marks = find_held(self.update.old.text, text, self.settings) if accepted else ()
        yield events.GateDecided(1, UPDATE, changes, verdict, text, rollouts=asked, folded=True)
        if accepted and not marks:
            yield events.VersionAccepted(1, 1, 1, UPDATE, text, changes, verdict, asked, grading)
        else:
            yield events.DraftGraded(text, changes, grading, self.update.upstream.digest, asked)
        held = f"; a person must look at it first: {'; '.join(map(str, marks))}" if marks else ""
        return f"{verdict.reason}{held}", int(accepted and not marks)
