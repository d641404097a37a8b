"""Drafts of two folds as one: their lines joined, those that the joined text has no place for, and doubles."""

from collections.abc import Mapping, Sequence

from skillopt.loop.draft import Draft, Line
from skillopt.loop.edit_checks import Refusal
from skillopt.loop.evidence import TrainEvidence, symptoms_of
from skillopt.rollouts import Rollout
from skillopt.skills.edits import Edit, Op


def join_lines(joined: Draft, learned: Sequence[Sequence[Line]]) -> None:
    """Make the lines of both folds those of the joined draft.

    A line that stands there already is left out, and so is one whose text a line of the other fold replaces. Of the
    orders tried, the one that keeps lines for the most tasks counts: added lines mostly fit into a rewritten section.
    """
    lines: dict[tuple[str, ...], Line] = {}
    for found in learned:
        for line in found:
            lines.setdefault(_said(line.edit), line)
    forwards = list(lines.values())
    backwards = [line for found in reversed(learned) for line in found if line in forwards]
    orders = (forwards, backwards, sorted(forwards, key=lambda line: line.edit.op is not Op.REWRITE))
    joined.set(max(map(joined.fitting, orders), key=_mended))


def lines_left_out(joined: Draft, learned: Sequence[Sequence[Line]]) -> list[Line]:
    """List the lines of folds that the joined draft does not say."""
    there = {_said(line.edit) for line in joined.lines}
    return [line for found in learned for line in found if _said(line.edit) not in there]


def drop_edits(draft: Draft, refused: Sequence[Refusal]) -> list[Refusal]:
    """Take the lines out of a draft that say what was refused, under whatever id; give them with the reasons."""
    reasons = {_said(edit): reason for edit, reason in refused}
    gone = [(line.edit, reasons[_said(line.edit)]) for line in draft.lines if _said(line.edit) in reasons]
    if gone:
        draft.set([line for line in draft.lines if _said(line.edit) not in reasons])
    return gone


def find_doubles(evidence: TrainEvidence, crossed: Mapping[str, Rollout]) -> list[Line]:
    """List the lines of a fold whose tasks the draft of the other fold mends, the surest first.

    It says the same then, in whatever words.

    Args:
        evidence: What the fold has learned.
        crossed: Rollouts of its tasks under the draft of the other fold, by task.
    """
    rates = evidence.rates
    found: list[tuple[float, Line]] = []
    for line in evidence.draft.lines:
        ran = {name: crossed[name] for name in line.targets if name in crossed and crossed[name].score is not None}
        told = [line.mends(name, symptoms_of(evidence.tasks[name], rollout)) for name, rollout in ran.items()]
        sure = sum(rates.for_it if mended else -rates.against for mended in told)
        if sure > 0:
            found.append((sure, line))
    return [line for _, line in sorted(found, key=lambda pair: -pair[0])]


def _said(edit: Edit) -> tuple[str, ...]:
    """Return what makes two edits the same."""
    return edit.op.value, edit.anchor, edit.section, edit.content.strip()


def _mended(lines: Sequence[Line]) -> tuple[int, int]:
    """Count the tasks that lines are cited for, and the lines."""
    return len({name for line in lines for name in line.targets}), len(lines)
