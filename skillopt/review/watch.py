"""Judge a change by the record of the old text: drive the rule of `one_sided` with rollouts, and say what it found."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, assert_never

from skillopt.gate.comparison import Pairs, check_both_ran, check_coverage, compare
from skillopt.gate.decide import Question, Verdict, decide
from skillopt.gate.families import find_families
from skillopt.protocols import RolloutRequest
from skillopt.review.one_sided import (
    WRONG_REFUSAL,
    Batch,
    Side,
    TaskRecord,
    WatchEnding,
    WatchFinding,
    chance_to_pass,
    follow,
    watched_tasks,
)
from skillopt.review.result import Judged, Standing, Watched
from skillopt.rollouts import Rollout, Stream, Usage
from skillopt.settings import Metric, Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Task

MOST_RUNS: Final = 64
"""More than the rule ever runs of one task with one text."""

_FIFTH: Final = 0.2  # share of tasks whose breaking the summary names: the row of the change gate's table
_ALL_ONCE: Final = 4
"""Rollouts of a task where both texts run on all of them, about."""


@dataclass(frozen=True, slots=True)
class OldRecord:
    """What is on record of the old text, by the ids of tasks, where that comes from in words, and a key of it.

    Those tasks run first whose evidence names lines that the change touches.
    """

    tasks: Mapping[str, TaskRecord]
    source: str
    key: str = ""
    named: frozenset[str] = frozenset()

    @property
    def usable(self) -> bool:
        """Whether it has tasks whose loss could be seen."""
        return bool(watched_tasks(self.tasks))


def judge_by_record(
    record: OldRecord,
    sides: tuple[Skill, Skill],
    tasks: Sequence[Task],
    settings: Settings,
    run: Callable[[Sequence[RolloutRequest]], Sequence[Rollout]],
    looks: int,
) -> tuple[Judged, Pairs]:
    """Judge a change by the record of the old text and fresh runs, after so many earlier changes."""
    named, first = {task.id: task for task in tasks}, Stream.REVIEW.repeat(looks * MOST_RUNS)
    order = Random(f"{settings.seed}/watch/{first}").sample(sorted(record.tasks), len(record.tasks))
    order.sort(key=lambda task: task not in record.named)
    counts, ran, pairs = Counter[tuple[Side, str]](), list[Rollout](), Pairs()
    passes = dict[str, list[bool]]()

    def run_batch(batch: Batch) -> list[bool | None]:
        requests = []
        for side, name in batch:
            requests.append(RolloutRequest(sides[side is Side.NEW], named[name], first + counts[side, name]))
            counts[side, name] += 1
        found = run(requests)
        ran.extend(found)
        for (side, name), one in zip(batch, found, strict=True):
            if side is Side.NEW and one.score is not None:
                passes.setdefault(name, []).append(one.score.passed)
        if len({side for side, _ in batch}) > 1:  # both texts, in pairs
            pairs.add(Pairs(list(found[::2]), list(found[1::2])))
        return [one.score.passed if one.score else None for one in found]

    finding = follow(record.tasks, order, run_batch, find_families(tasks))
    check_coverage("gate", ran, settings.coverage)
    check_both_ran("gate", pairs)
    verdict = _decide(finding, pairs) if pairs.before else None
    watched = _watched(record, passes, settings.seed)
    answer, reason = _answer(finding, watched, len(tasks), ran)
    if answer is Standing.REFUSED and (verdict is None or not verdict.rejected):
        told = verdict.reason if verdict else "no task ran with both texts"
        answer, reason = Standing.CANNOT_TELL, f"cannot tell: {told}"
    return Judged(verdict, answer, reason, lowest=-1.0, confidence=1.0 - WRONG_REFUSAL, watched=watched), pairs


def _decide(finding: WatchFinding, pairs: Pairs) -> Verdict:
    """Decide by the pairs that the last look of the rule was at; the verdict tells of all fresh pairs."""
    both = [(old, new) for old, new in zip(pairs.before, pairs.after, strict=True) if old.score and new.score]
    looked_at = both[slice(*finding.tested)]
    differing = [pair for pair in looked_at if len({one.score.passed for one in pair if one.score}) > 1]
    tested = Pairs([old for old, _ in differing], [new for _, new in differing]) if differing else None
    return decide(compare(pairs, Metric.HARD, tested=tested), Question.WORSE, finding.level)


def _watched(record: OldRecord, passes: Mapping[str, Sequence[bool]], seed: int) -> Watched:
    """Sum up the watched tasks that ran, and estimate how often harm would pass unseen."""
    sure = sum(row.sure for row in record.tasks.values())
    fifth, one = (
        chance_to_pass(record.tasks, lost, Random(f"{seed}/{lost}")) for lost in (max(1, round(_FIFTH * sure)), 1)
    )
    return Watched(
        tasks=len(passes),
        passed_before=sum(record.tasks[task].passed / record.tasks[task].runs for task in passes),
        passed_after=sum(sum(runs) / len(runs) for runs in passes.values()),
        record=record.source,
        wrong_refusal=WRONG_REFUSAL,
        unseen_harm=fifth,
        unseen_task=one,
    )


def _answer(finding: WatchFinding, watched: Watched, tasks: int, ran: Sequence[Rollout]) -> tuple[Standing, str]:
    """Say what the rule found."""
    found = f"{watched.passed} tasks pass that passed before"
    moved = f"; the old text fails now, too: {', '.join(finding.moved)}" if finding.moved else ""
    match finding.ending:
        case WatchEnding.PASSED:
            return Standing.PASSED, f"nothing that passed is seen to break: {found}{moved}"
        case WatchEnding.BROKEN:
            until = f"{watched.tasks} of {len(finding.watched)} tasks ran until that was clear"
            return Standing.REFUSED, f"shown to be worse: it breaks {', '.join(finding.broken)}; {until}"
        case WatchEnding.LOWER:
            return Standing.REFUSED, f"shown to be worse: fewer runs pass on all tasks together, {found}"
        case WatchEnding.TARGET_CHANGED:
            reason = "the target changed since the record: the old text passes fewer tasks now, too"
            return Standing.CANNOT_TELL, f"cannot tell: {reason}; the push that merges this makes a new record"
        case WatchEnding.UNSURE:
            usd, more = Usage.total(one.usage for one in ran).usd, _ALL_ONCE * tasks
            price = f", ${usd / len(ran) * more:.2f}" if usd else ""
            told = f"`--margin 0.2` runs all {tasks} tasks with both texts: about {more} rollouts{price}"
            return Standing.CANNOT_TELL, f"cannot tell: {found}{moved}; what would tell: {told}"
        case _:
            assert_never(finding.ending)
