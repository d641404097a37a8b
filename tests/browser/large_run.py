"""A run of a hundred thousand rollouts in a real ledger, for measuring what its report weighs."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from skillopt.gate.comparison import Outcome
from skillopt.loop.events import EditRefused, Event, GateDecided, RunStarted, VersionAccepted, encode_event
from skillopt.project import Selection
from skillopt.rollouts import Message, Rollout, Score, Status, ToolCall, Trajectory, Usage
from skillopt.runs.plan import begin_run, make_plan
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Change, Edit, Op
from skillopt.storage.ledger import Ledger
from tests.fakes.projects import make_project
from tests.fakes.views import verdict

__all__ = ["ROLLOUTS", "make_large_run"]

ROLLOUTS = 100_000
_TASKS, _VERSIONS, _REFUSED = 400, 40, 2000


def make_large_run(folder: Path) -> Path:
    """Make a project with 1,200 tasks, and record a run of it with many versions, refused edits and rollouts."""
    make_project(folder, tasks=_TASKS)
    plan = make_plan(Selection("rows", folder=folder))
    start = plan.target.skill()
    grown = [
        f"{start.document.text}\n" + "".join(f"- Rule {at}.\n" for at in range(n)) for n in range(1, _VERSIONS + 1)
    ]
    skills = [start.digest, *(start.with_document(SkillDocument(text)).digest for text in grown)]
    tasks = [task.id for _, task in plan.suite.splits]
    with closing(Ledger.open(folder)) as ledger:
        record, _ = begin_run(plan, ledger, "auto")
        events = [RunStarted("rows", start.digest, plan.suite.name, plan.suite.digest, 90), *_events(grown)]
        for seq, event in enumerate(events):
            ledger.append_event(record.id, seq, *encode_event(event))
        for chunk in _chunks(_rollouts(tasks, skills)):
            ledger.store_rollouts(record.id, chunk, plan.drivers.target_identity)
        ledger.end_run(record.id, "finished", "all 4 epochs done")
    return folder


def _events(texts: Sequence[str]) -> Iterator[Event]:
    for number in range(_REFUSED):
        edit = Edit(
            f"r{number}", Op.ADD, content=f"- Rule {number}: " + "more words " * 20, rationale="A reason. " * 10
        )
        yield EditRefused(number % 90, edit, "over the edit budget of this step")
    for number, text in enumerate(texts, 1):
        edit = Edit(f"a{number}", Op.ADD, content=f"- Rule {number - 1}.", rationale="A reason.", tasks=("train1",))
        changes = (Change(edit, 0, 1, 4, f"+- Rule {number - 1}."),)
        found = verdict(Outcome.ACCEPT, before=0.4 + number / 100, after=0.41 + number / 100)
        yield GateDecided(number, "edits", changes, found, text)
        yield VersionAccepted(number, 1, number, "edits", text, changes, found, number * ROLLOUTS // len(texts))


def _rollouts(tasks: Sequence[str], skills: Sequence[str]) -> Iterator[tuple[str, Rollout]]:
    draw = Random(0)
    trace = "".join(draw.choices("abcdefgh \n", k=3000))
    calls = (ToolCall("read_file", "input.csv", trace),)
    messages = (Message("user", "Clean the table."), Message("assistant", trace, calls))
    trajectory = Trajectory(messages, files_changed=("output.csv",), usage=Usage(1, 900, 300, 0.01))
    for number in range(ROLLOUTS):
        task, rest = tasks[number % len(tasks)], number // len(tasks)
        passed = draw.random() < 0.4 + 0.01 * (rest % len(skills))
        score = Score(1.0 if passed else 0.5, passed, "" if passed else "row 1: wrong")
        rollout = Rollout(task, skills[rest % len(skills)], rest, trajectory, Status.OK, score)
        yield f"{number:064x}", rollout


def _chunks(pairs: Iterator[tuple[str, Rollout]]) -> Iterator[list[tuple[str, Rollout]]]:
    chunk: list[tuple[str, Rollout]] = []
    for pair in pairs:
        chunk.append(pair)
        if len(chunk) == 5000:
            yield chunk
            chunk = []
    yield chunk
