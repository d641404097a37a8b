"""The one text of two folds: its parts are run crosswise, merged without doubles, and run as a whole.

What one fold has learned is run on the failing tasks of the other (2-fold cross-validation); this alone tells of new
tasks. Where it mends the tasks of a line, the line is a double. The merged text then runs on all tasks. Where it fails
and a text with fewer lines did not, the line that is in the way is located by group ablation, halving what is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from skillopt.loop.caps import BudgetReached
from skillopt.loop.course import finish
from skillopt.loop.draft import Line
from skillopt.loop.events import EditRefused, Event
from skillopt.loop.folds import find_doubles, lines_left_out
from skillopt.loop.harm import locate_harm
from skillopt.loop.training_run import TrainingRun
from skillopt.rollouts import Rollout
from skillopt.skills.document import Skill

_MOST_REPAIRS: Final = 3
"""Changes of a merged text, each followed by another run of the whole."""

_LOCATED: Final = 2
"""Tasks for which a line that is in the way is looked for after one run of the whole."""

_CHECKED: Final = 3
"""Tasks of such a line that are run without it."""

_DOUBLE: Final = "the draft of the other fold mends its tasks as well, so the merged text says it once"
_IN_THE_WAY: Final = "beside the lines of the other fold tasks fail that pass without it"


def merge_folds(run: TrainingRun) -> Iterator[Event]:
    """Merge the drafts of both folds to the one text that is graded, as far as the caps allow."""
    told, start, ran = set(run.doubles), run.draft.incumbent.digest, None
    try:
        crossed = _run_ahead(run, {name: skill for name, skill in parts_of_folds(run).items() if skill.digest != start})
        _find_doubles(run, crossed)
        yield from run.draft_changed()
        for _ in range(_MOST_REPAIRS):
            whole = _run_ahead(run, {task.id: run.draft.skill for task in run.val})
            ran = dict(run.doubles)
            if not _repair(run, crossed, whole):
                break
            yield from run.draft_changed()
        _run_ahead(run, {task.id: run.draft.skill for task in run.val})
    except BudgetReached:
        if ran is not None:  # what is handed over is the last text that ran as a whole
            run.doubles = ran
        yield from run.draft_changed()
    yield from (EditRefused(run.step, line.edit, why) for line, why in run.doubles.items() if line not in told)


def parts_of_folds(run: TrainingRun) -> dict[str, Skill]:
    """Return for each task that failed at the start the text that the other fold has learned."""
    evidence = [policy.evidence for policy in run.policies]
    lost = lines_left_out(run.draft, [one.draft.lines for one in evidence])
    skills = [
        one.draft.build([line for line in one.draft.lines if line not in lost or line in run.doubles])
        for one in evidence
    ]
    return {name: skills[1 - at] for at, one in enumerate(evidence) for name, symptoms in one.start.items() if symptoms}


def _run_ahead(run: TrainingRun, texts: Mapping[str, Skill]) -> dict[str, Rollout]:
    """Run tasks under texts, with the repeat that the grade asks for."""
    tasks = [task for task in run.val if task.id in texts]
    found = run.gate.run_ahead([(texts[task.id], task) for task in tasks])
    return {rollout.task_id: rollout for rollout in found}


def _find_doubles(run: TrainingRun, crossed: Mapping[str, Rollout]) -> None:
    """Leave the doubles of one fold out of the merged text, those that make it shorter.

    A double has a twin in the other fold, which is a double itself: no more go than the other fold has.
    """
    first, second = (find_doubles(policy.evidence, crossed) for policy in run.policies)
    pairs = min(len(first), len(second))
    gone = max(first[:pairs], second[:pairs], key=lambda lines: sum(len(line.edit.content) for line in lines))
    run.doubles |= dict.fromkeys(gone, _DOUBLE)


def _repair(run: TrainingRun, crossed: Mapping[str, Rollout], whole: Mapping[str, Rollout]) -> bool:
    """Mend the merged text where it fails and a text with fewer lines did not; return whether it was changed."""
    suspects = _suspects(run, crossed, whole)
    again = _measure(run, run.draft.skill, list(suspects))
    lost = [name for name in suspects if not again[name]]
    back = [line for line in run.doubles if set(line.targets) & set(lost)]
    if back:
        cited = [name for name in lost if any(name in line.targets for line in back)]
        mended = _measure(run, run.draft.build([*run.draft.lines, *back]), cited)
        needed = [line for line in back if any(mended.get(name) for name in line.targets)]
        for line in needed:
            del run.doubles[line]
        if needed:
            return True
    for name in lost[:_LOCATED]:
        evidence = next(policy.evidence for policy in run.policies if name in policy.evidence.tasks)
        harmful = finish(locate_harm(evidence, run.draft.lines, suspects[name], name), run.answers)
        if harmful is not None and _gains_without(run, harmful, lost, whole):
            run.doubles[harmful] = _IN_THE_WAY
            return True
    return False


def _suspects(
    run: TrainingRun, crossed: Mapping[str, Rollout], whole: Mapping[str, Rollout]
) -> dict[str, Sequence[Line]]:
    """Return the tasks that fail under the whole text and passed under a part of it, with the lines it lacked."""
    found: dict[str, Sequence[Line]] = {}
    for policy in run.policies:
        evidence = policy.evidence
        own = [line for line in run.draft.lines if line in evidence.draft.lines]
        for name in evidence.tasks:
            if _passes(whole.get(name)):
                continue
            seen = evidence.seen.get(name)
            if _passes(crossed.get(name)):
                found[name] = own
            elif seen is not None and seen.text == evidence.draft.skill.digest and not seen.symptoms:
                found[name] = [line for line in run.draft.lines if line not in own]
            elif not evidence.start.get(name, {name}):
                found[name] = run.draft.lines
            elif any(name in line.targets for line in run.doubles):
                found[name] = ()
    return found


def _gains_without(run: TrainingRun, line: Line, lost: Sequence[str], whole: Mapping[str, Rollout]) -> bool:
    """Return whether more tasks pass without a line than fail, of those that were lost and those that it mends."""
    mended = [name for name in line.targets if name not in lost and _passes(whole.get(name))][:_CHECKED]
    left = run.draft.build([one for one in run.draft.lines if one is not line])
    found = _measure(run, left, [*lost, *mended])
    return sum(found[name] for name in lost) > sum(not found[name] for name in mended)


def _measure(run: TrainingRun, skill: Skill, names: Sequence[str]) -> dict[str, bool]:
    """Run tasks under a text with fresh repeats; return which pass."""
    tasks = {task.id: task for task in run.val}
    found = run.rollouts.measure([(skill, tasks[name]) for name in names])
    return {name: _passes(rollout) for name, rollout in zip(names, found, strict=True)}


def _passes(rollout: Rollout | None) -> bool:
    return rollout is not None and rollout.score is not None and rollout.score.passed
