"""Recorded rollouts that a page may show, each cut to what a page can hold."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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


def read_rollouts(ledger: Ledger, view: RunView, most: int = _MOST_ROLLOUTS) -> str:
    """Show recorded rollouts of tasks known to be train, or in the first of two folds."""
    splits = {row.task: row.split for row in view.heat}
    names = {version.digest: f"v{version.number}" if version.number else "start" for version in view.versions}
    identity = view.target + (f" judge={view.judge}" if view.judge else "")
    rows = ledger.run_results(view.run, list(names), identity)
    listed = [row for row in rows if splits.get(row.task, "") in SEEN_SPLITS]
    chosen = choose_rollouts(listed, most)
    found = ledger.rollouts([row.key for row in chosen])
    shown = [(found[row.key], names.get(row.skill, "draft")) for row in chosen if row.key in found]
    return show_rollouts(view, shown, len(listed))


def show_rollouts(view: RunView, shown: Sequence[tuple[Rollout, str]], listed: int) -> str:
    """Tell of the rollouts that were chosen of all that are listed, each with its version."""
    told = (
        f"{len(shown):,} of {listed:,} recorded rollouts of {'the first half' if view.folded else 'the train tasks'}: "
        "tasks that went differently first, then failing ones. Other tasks are not shown, so that nobody writes edits "
        "for them."
    )
    rollouts = [_rollout(*one) for one in shown] or ["No rollout is on record."]
    return paragraphs("## Rollouts", told, *rollouts)


def _rollout(rollout: Rollout, version: str) -> str:
    facts = [version, f"run {repeat_number(rollout.repeat)}"]
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
    rows = sorted(rows, key=lambda row: (row.score, row.skill, row.repeat))
    results = {(row.task, row.passed) for row in rows}
    seen = Counter[tuple[str, bool]]()

    def rank(row: ResultRow) -> tuple[int, bool, bool, str]:
        seen[row.task, row.passed] += 1
        # Of a task that flipped, a failure beside a success tells most.
        return seen[row.task, row.passed], (row.task, not row.passed) not in results, row.passed, row.task

    return sorted(sorted(rows, key=rank)[:most], key=lambda row: (row.task, row.passed, row.skill, row.repeat))
