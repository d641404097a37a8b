"""Collect the recorded evidence that a proposer of edits needs, for the command `evidence`.

Nothing of `val` or `test`, no verifier and no answer is in it, and it spends nothing.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

from skillopt.commands.propose import SHORT
from skillopt.execution.drivers import Drivers
from skillopt.gate.comparison import Outcome
from skillopt.loop.events import EditRefused, EditScreened, Event, GateDecided, MemoryUpdated, decode_event
from skillopt.loop.memory import MOST_REMEMBERED
from skillopt.project import Selection
from skillopt.prompts.evidence import ROLLOUT_TOKENS, render_rollout
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream
from skillopt.runs.earlier_spending import runs_on
from skillopt.runs.plan import Start, incumbent_of, make_plan
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Task

__all__ = ["Evidence", "ShownTask", "evidence"]

_REPEATS = 16
"""Repeats of a task that are looked for; patch tests and gates have higher ones."""

_RUNS = 50
"""Newest runs that are searched for rejected edits."""

_TOKENS = 600
"""Budget of one rollout in short form."""


@dataclass(frozen=True, slots=True)
class ShownTask:
    """A train task under the incumbent.

    Args:
        task: Its id.
        repeats: How often it was run.
        passed: How often it passed.
        text: One rollout in short form, a failing one if there is any. Untrusted.
    """

    task: str
    repeats: int
    passed: int
    text: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The reflection packet of the incumbent.

    Args:
        skill: Its name.
        base: Digest that names it, which a proposal repeats.
        text: Its whole SKILL.md.
        sections: Titles of its sections, which an `add` can name.
        edit_budget: Most edits of a proposal.
        token_budget: Most changed tokens, 0 for no limit.
        tasks: Train tasks of the suite.
        failing: Train tasks that failed at least once.
        passing: Train tasks that always passed.
        rejected: Edits that were tried and not taken, with the reason, newest last. Untrusted.
        memory: The optimizer's notes from the newest run that left some. Untrusted.
        looks: Proposals measured on this suite so far; each makes the next verdict worth a little less.
    """

    skill: str
    base: str
    text: str
    sections: tuple[str, ...]
    edit_budget: int
    token_budget: int
    tasks: int
    failing: tuple[ShownTask, ...]
    passing: tuple[ShownTask, ...]
    rejected: tuple[str, ...]
    memory: str
    looks: int


def evidence(selection: Selection, *, start: Start = "auto") -> Evidence:
    """Gather what is recorded of the incumbent on the train tasks.

    Args:
        selection: The skill, its suite and settings.
        start: Which text is the incumbent when work tree and branch differ.

    Raises:
        UsageError: The skill cannot be trained, or work tree and branch differ and nobody said which.
    """
    plan = make_plan(selection, proposer="the reader")
    skill = incumbent_of(plan.target, plan.repository, start)
    settings, train = plan.target.settings, plan.suite.tasks(Split.TRAIN)
    with closing(Ledger.open(selection.project().root)) as ledger:
        found = _recorded(ledger, plan.drivers, skill, train)
        shown = [_shown(task, found[task.id], min(_TOKENS, ROLLOUT_TOKENS)) for task in train if task.id in found]
        events = list(_events(ledger, skill.name))
        looks = len(runs_on(ledger, "proposal", skill.name, plan.suite.digest))
    rejected = [line for event in events for line in _rejections(event)]
    memories = [event.memory for event in events if isinstance(event, MemoryUpdated)]
    return Evidence(
        skill.name,
        skill.digest[:SHORT],
        skill.document.text,
        tuple(section.title for section in skill.document.sections),
        settings.edit_budget,
        settings.token_budget,
        len(train),
        tuple(one for one in shown if one.passed < one.repeats),
        tuple(one for one in shown if one.passed == one.repeats),
        tuple(dict.fromkeys(rejected))[-MOST_REMEMBERED:],
        memories[-1] if memories else "",
        looks,
    )


def _recorded(ledger: Ledger, drivers: Drivers, skill: Skill, tasks: tuple[Task, ...]) -> Mapping[str, list[Rollout]]:
    keys = {
        drivers.key_of(RolloutRequest(skill, task, repeat)): task.id
        for task in tasks
        for number in range(_REPEATS)
        for repeat in (number, Stream.LEARNING.repeat(number))  # of evaluations, and of training
    }
    found: dict[str, list[Rollout]] = {}
    for key, rollout in ledger.rollouts(list(keys)).items():
        found.setdefault(keys[key], []).append(rollout)
    return {name: sorted(rollouts, key=lambda one: one.repeat) for name, rollouts in found.items()}


def _shown(task: Task, rollouts: list[Rollout], tokens: int) -> ShownTask:
    passed = [rollout for rollout in rollouts if rollout.score is not None and rollout.score.passed]
    failed = [rollout for rollout in rollouts if rollout not in passed]
    return ShownTask(task.id, len(rollouts), len(passed), render_rollout(task, (failed or passed)[-1], tokens))


def _events(ledger: Ledger, skill: str) -> Iterator[Event]:
    """Give the events of the newest runs of a skill, oldest first."""
    runs = [run for run in ledger.runs() if run.skill == skill and run.kind != "gate"][:_RUNS]
    for run in reversed(runs):
        yield from (decode_event(row.kind, row.payload) for row in ledger.events(run.id))


def _rejections(event: Event) -> Iterator[str]:
    match event:
        case EditRefused():
            yield f"{event.edit.summary}: {event.reason}"
        case EditScreened(kept=False) if event.tasks:
            yield f"{event.edit.summary}: {event.reason}"
        case GateDecided() if event.verdict.outcome is not Outcome.ACCEPT:
            verdict = f"{event.verdict.outcome.value}, {event.verdict.reason}"
            yield from (f"{change.edit.summary}: {verdict}" for change in event.changes)
