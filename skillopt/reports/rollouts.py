"""Recorded rollouts that a page may show, each cut to what a page can hold."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from skillopt.reports.markdown import cited, cut_middle, details, list_names, paragraphs, quote_block
from skillopt.reports.view import SEEN_SPLITS, RunView
from skillopt.rollouts import Message, Rollout, Trajectory, repeat_number
from skillopt.safety.escaping import count_noun
from skillopt.storage.ledger import Ledger, ResultRow

_MOST_ROLLOUTS: Final = 60  # with `_ROLLOUT` characters each, the page stays below two megabytes
_MOST_TURNS: Final = 40  # an agent's trace has hundreds, and what went wrong shows at its ends
_MOST_USES: Final = 8  # one turn may use dozens of tools at once
_MOST_FILES: Final = 50  # names that fill a few lines
_ROLLOUT: Final = 24_000
"""Characters of a rollout; its texts share them."""
_MOST_TEXT, _LEAST_TEXT = 3000, 40


@dataclass(frozen=True, slots=True)
class PageRollout:
    """A rollout with the version and the split that it is of."""

    rollout: Rollout
    version: str
    split: str


def read_rollouts(ledger: Ledger, view: RunView, *, all_splits: bool = False, most: int = _MOST_ROLLOUTS) -> str:
    """Show recorded rollouts of tasks known to be train, or in the first of two folds, unless all are asked."""
    splits = {row.task: row.split for row in view.heat}
    names = {version.digest: f"v{version.number}" if version.number else "start" for version in view.versions}
    identity = view.target + (f" judge={view.judge}" if view.judge else "")
    rows = ledger.run_results(view.run, list(names), identity)
    listed = [row for row in rows if all_splits or splits.get(row.task, "") in SEEN_SPLITS]
    chosen = choose_rollouts(listed, most)
    found = ledger.rollouts([row.key for row in chosen])
    shown = [
        PageRollout(found[row.key], names.get(row.skill, "draft"), splits.get(row.task, ""))
        for row in chosen
        if row.key in found
    ]
    return show_rollouts(view, shown, len(listed), all_splits=all_splits)


def show_rollouts(view: RunView, shown: Sequence[PageRollout], listed: int, *, all_splits: bool = False) -> str:
    """Tell of the rollouts that were chosen of all that are listed."""
    of = "all splits" if all_splits else "the first half" if view.folded else "the train tasks"
    hidden = " Other tasks are not shown, so that nobody writes edits for them; `--all-splits` does."
    told = (
        f"{len(shown):,} of {listed:,} recorded rollouts of {of}: tasks that went differently first, then "
        f"failing ones.{'' if all_splits else hidden}"
    )
    rollouts = [_rollout(one, all_splits=all_splits) for one in shown] or ["No rollout is on record."]
    return paragraphs("## Rollouts", told, *rollouts)


def _rollout(shown: PageRollout, *, all_splits: bool) -> str:
    rollout = shown.rollout
    facts = [shown.version, f"run {repeat_number(rollout.repeat)}", *([shown.split] if all_splits else [])]
    if rollout.score is not None:
        facts.append("passed" if rollout.score.passed else f"not passed, score {rollout.score.value:.2f}")
    feedback, files = rollout.score.feedback if rollout.score else "", rollout.trajectory.files_changed
    return details(
        f"{cited(rollout.task_id)} {', '.join(facts)}",
        paragraphs(
            *(
                f"{rollout.status.value}: {cited(rollout.reason)}" if rollout.reason else "",
                "### Feedback",
                quote_block(cut_middle(feedback, _MOST_TEXT)) if feedback.strip() else "All correct.",
                f"Files changed: {list_names(files, _MOST_FILES)}. {rollout.usage.tokens:,} tokens.",
                "### Trajectory",
                *show_turns(rollout.trajectory),
            )
        ),
    )


def show_turns(trajectory: Trajectory) -> Iterator[str]:
    """Show the turns of a trajectory, each cut; turns in the middle are left out when there are too many."""
    messages = trajectory.messages
    half = len(messages) if len(messages) <= _MOST_TURNS else _MOST_TURNS // 2
    first, last = messages[:half], messages[max(half, len(messages) - half) :]
    texts = sum(1 + 2 * min(len(message.tool_calls), _MOST_USES) for message in (*first, *last))
    most = max(_LEAST_TEXT, min(_MOST_TEXT, _ROLLOUT // max(texts, 1)))
    for message in first:
        yield from _turn(message, most)
    if skipped := len(messages) - len(first) - len(last):
        yield f"… {count_noun(skipped, 'turn')} left out here …"
    for message in last:
        yield from _turn(message, most)


def _turn(message: Message, most: int) -> Iterator[str]:
    yield cited(message.role, 80)
    if message.text:
        yield quote_block(cut_middle(message.text, most))
    for call in message.tool_calls[:_MOST_USES]:
        yield f"uses {cited(call.name, 80)}"
        yield quote_block(cut_middle(call.arguments, most))
        if call.result:
            yield from ("and gets", quote_block(cut_middle(call.result, most)))
    if (more := len(message.tool_calls) - _MOST_USES) > 0:
        yield f"… {count_noun(more, 'more use')} of tools left out …"


def choose_rollouts(rows: Iterable[ResultRow], most: int = _MOST_ROLLOUTS) -> list[ResultRow]:
    """Choose rollouts to show: tasks that went differently first, failing ones, then the rest, spread over tasks."""
    by_task: dict[str, list[ResultRow]] = {}
    for row in sorted(rows, key=lambda row: (row.score, row.skill, row.repeat)):
        by_task.setdefault(row.task, []).append(row)
    ranked: list[tuple[tuple[int, bool, bool, str], ResultRow]] = []
    for task, mine in by_task.items():
        failed, passed = [row for row in mine if not row.passed], [row for row in mine if row.passed]
        # Of a task that flipped, a failure beside a success tells most.
        flipped = bool(failed and passed)
        for place, pair in enumerate(zip_longest(failed, passed) if flipped else [(row,) for row in mine]):
            ranked += [((place, not flipped, row.passed, task), row) for row in pair if row is not None]
    ranked.sort(key=lambda pair: pair[0])
    return sorted((row for _, row in ranked[:most]), key=lambda row: (row.task, row.passed, row.skill, row.repeat))
