"""Collect for `evidence` what is recorded of the tasks that teach, and of no others."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from difflib import get_close_matches

from skillopt.errors import UsageError
from skillopt.execution.records import recorded_events
from skillopt.loop.events import EditRefused, EditScreened, Event, GateDecided
from skillopt.loop.memory import MOST_REMEMBERED
from skillopt.project import Selection
from skillopt.prompts.evidence import render_rollout, shorten_middle
from skillopt.prompts.evidence_table import EvidenceRow, write_evidence_table
from skillopt.prompts.failure_groups import FailureGroup, group_failures
from skillopt.rollouts import Rollout
from skillopt.runs.history import told_refusals
from skillopt.runs.plan import Start, make_plan
from skillopt.runs.proposal import MOST_EDITS, SHORT, find_ground
from skillopt.runs.recorded import TRAIN_REPEATS, proposal_repeats, rollouts_at, runs_on
from skillopt.skills.document import estimate_tokens
from skillopt.skills.edits import Edit
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import count_refused
from skillopt.tasks import Split, Task

_RUNS = 50  # newest, which are searched for rejected edits

_EXAMPLE_TOKENS = 600  # four to six examples beside the table
_WHOLE_TOKENS = 20_000
"""Budgets of a rollout in short form, and of one that is asked for."""

_REJECTION_TOKENS = 60  # two lines
_REJECTED_TOKENS = 900
"""Budgets of a rejected edit with its reason, and of them all; what people refused comes first."""

_FIRST_TOKENS = 3_700
"""Tokens (estimated) of all but the skill's text where no tasks are asked for; examples take what the rest leaves."""

_AROUND = 25
"""Tokens of what stands around one rollout or one part."""


@dataclass(frozen=True, slots=True)
class TaskEvidence:
    """The reflection packet of the text that proposed edits are for."""

    skill: str
    base: str
    text: str
    sections: tuple[str, ...]
    edit_budget: int
    token_budget: int
    waits: bool
    tasks: int
    folded: bool
    measured: tuple[EvidenceRow, ...]
    table: str
    rollouts: tuple[tuple[str, str], ...]  # task and text
    refused: tuple[str, ...]
    rejected: tuple[str, ...]
    looks: int

    @property
    def failing(self) -> int:
        """Count the tasks that failed at least once."""
        return sum(one.passed < one.repeats for one in self.measured)


def evidence(selection: Selection, *, start: Start = "auto", tasks: Sequence[str] = ()) -> TaskEvidence:
    """Gather what is recorded of the waiting draft, else of the incumbent, on the tasks that teach."""
    plan, root = make_plan(selection, proposer="the reader"), selection.project().root
    ground = find_ground(plan, root, start)
    skill, folded = ground.text, plan.suite.folds is not None
    settings, train = plan.target.settings, plan.suite.tasks_to_evaluate(Split.TRAIN)
    ids = [task.id for task in train]
    if unknown := [name for name in tasks if name not in ids][:3]:
        near = dict.fromkeys(one for name in unknown for one in get_close_matches(name, ids, 3, 0.5))
        meant = f"; did you mean {', '.join(map(repr, near))}?" if near else "; the table of the evidence lists them"
        listed = ", ".join(repr(name[:80]) for name in unknown)
        raise UsageError(f"expected ids of train tasks, found {listed}{meant}")
    found: Mapping[str, list[Rollout]] = {}
    runs: list[list[Event]] = []
    looks = 0
    if (root / ".skillopt" / "ledger.db").exists():  # where nothing was measured nothing is written either
        with closing(Ledger.open(root, read_only=True)) as ledger:
            newest = [run for run in ledger.runs(skill.name) if run.kind != "gate"][:_RUNS]
            runs = [recorded_events(ledger, run.id) for run in reversed(newest)]
            looks = len(runs_on(ledger, "proposal", skill.name, plan.suite.digest))
            repeats = [*TRAIN_REPEATS, *proposal_repeats(looks)]
            found = rollouts_at(ledger, plan.drivers, skill, train, repeats)
    rows, groups = _summarise([(task, found[task.id]) for task in train if task.id in found])
    waiting = {edit.summary for edit in ground.edits}
    by_people = told_refusals(plan.repository, plan.refusals, plan.suite)
    # What is cut is the edit, not the reason.
    refused = _newest([f"{shorten_middle(one.edit.summary, _REJECTION_TOKENS)}: {one.words}" for one in by_people])
    tried = [
        shorten_middle(f"{edit.summary}: {reason}", _REJECTION_TOKENS)
        for events in runs
        for event in events
        for edit, reason in _rejections(event)
        if {*ids}.issuperset(edit.tasks) and edit.summary not in waiting
    ]
    rejected = _newest(tried, _REJECTED_TOKENS - estimate_tokens("\n".join(refused)))
    sections = tuple(section.title for section in skill.document.sections)
    table = write_evidence_table(rows)
    left = _FIRST_TOKENS - 10 * _AROUND - estimate_tokens("\n".join((table, *sections, *refused, *rejected)))
    whole = tuple(
        (task.id, render_rollout(task, rollout, _WHOLE_TOKENS))
        for task in train
        for rollout in reversed(found.get(task.id, []) if task.id in tasks else [])
    )
    return TaskEvidence(
        skill=skill.name,
        base=skill.digest[:SHORT],
        text=skill.document.text,
        sections=sections,
        edit_budget=min(settings.edit_budget, MOST_EDITS),
        token_budget=settings.token_budget,
        waits=bool(ground.edits),
        tasks=len(train),
        folded=folded,
        measured=tuple(rows),
        table=table,
        rollouts=whole if tasks else tuple(_examples(groups, left)),
        refused=refused,
        rejected=rejected,
        looks=looks + count_refused(root, skill.name, plan.suite.digest)[0],
    )


def _summarise(measured: Sequence[tuple[Task, list[Rollout]]]) -> tuple[list[EvidenceRow], tuple[FailureGroup, ...]]:
    failures = [
        (task, failed[-1]) for task, rollouts in measured if (failed := [one for one in rollouts if not _passed(one)])
    ]
    groups = group_failures(failures)
    number_of = {name: number for number, group in enumerate(groups, 1) for name in group.ids}
    feedback = {task.id: one.score.feedback if one.score else one.status.value for task, one in failures}
    rows = [
        EvidenceRow(
            task.id, sum(map(_passed, rollouts)), len(rollouts), number_of.get(task.id, 0), feedback.get(task.id, "")
        )
        for task, rollouts in measured
    ]
    rows.sort(key=lambda row: (not row.group, row.group))
    return rows, groups


def _examples(groups: Sequence[FailureGroup], tokens: int) -> Iterator[tuple[str, str]]:
    for group in groups:
        text = render_rollout(group.task, group.rollout, _EXAMPLE_TOKENS)
        tokens -= estimate_tokens(text) + _AROUND
        if tokens < 0:
            return
        yield group.task.id, text


def _passed(rollout: Rollout) -> bool:
    return rollout.score is not None and rollout.score.passed


def _newest(lines: Sequence[str], left: int = _REJECTED_TOKENS) -> tuple[str, ...]:
    shown: dict[str, None] = {}
    for line in reversed(lines):
        short = " ".join(line.split())
        left -= 0 if short in shown else estimate_tokens(short)
        if left < 0 or len(shown) == MOST_REMEMBERED:
            break
        shown[short] = None
    return tuple(reversed(shown))


def _rejections(event: Event) -> Iterator[tuple[Edit, str]]:
    match event:
        case EditRefused() if event.reason:
            yield event.edit, event.reason
        case EditScreened() if not event.kept and event.tasks and event.reason:
            yield event.edit, event.reason
        case GateDecided() if not event.verdict.accepted:
            for one in event.changes:
                yield one.edit, f"{event.verdict.outcome.value}, {event.verdict.reason}"
        case _:
            pass
