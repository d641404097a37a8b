"""A run of a real project whose events are scripted, so that drafts of every grade can be had without training."""

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt.execution.runner import RunObserver
from skillopt.gate.decide import Outcome
from skillopt.gate.grades import Grade, Grading
from skillopt.loop.events import DraftChanged, DraftGraded, Event, GateDecided, RunEnded, RunStarted, VersionAccepted
from skillopt.project import Selection
from skillopt.runs.plan import begin_run, make_plan
from skillopt.runs.run import RecordedRun
from skillopt.skills.edits import Change, Edit, Op
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from tests.fakes.projects import SKILL
from tests.fakes.verdicts import made_verdict

VERDICT = made_verdict(passing=("t2", "t3"), failing=("t4",))
ENDED = RunEnded("all train tasks pass", 0, 40, 4)


class KilledError(BaseException):
    """The end of a process that was killed: nothing acts on it."""


@dataclass
class ScriptedRun(RunObserver):
    """What a scripted run said, and the object that recorded it."""

    said: list[str] = field(default_factory=list)
    run: RecordedRun | None = None

    def notice(self, text: str) -> None:
        self.said.append(text)


def grading(grade: Grade = Grade.LIKELY, probability: float | None = 0.91) -> Grading:
    return Grading(grade, probability, 0.18, -0.06, 0.36, 12, 4)


def changed(*rules: str, step: int = 1) -> DraftChanged:
    """Change the draft to the project's skill with these rules added."""
    return DraftChanged(step, _text(rules), _changes(rules))


def graded(*rules: str, grade: Grade = Grade.LIKELY, probability: float | None = 0.91) -> DraftGraded:
    return DraftGraded(_text(rules), _changes(rules), grading(grade, probability), "digest", 40)


def accepted(*rules: str, grade: Grade | None = None) -> VersionAccepted:
    given = None if grade is None else grading(grade, 0.99)
    return VersionAccepted(1, 1, 1, "edits", _text(rules), _changes(rules), VERDICT, 30, given)


def gated(spent: float, *rules: str) -> GateDecided:
    """Refuse a candidate at the gate, which spends some error."""
    verdict = replace(VERDICT, outcome=Outcome.REJECT, error_spent=spent)
    return GateDecided(1, "edits", _changes(rules), verdict, _text(rules), 20)


def run_events(
    folder: Path, *events: Event, name: str = "rows", seed: int = 0, ends: BaseException | None = None
) -> ScriptedRun:
    """Record scripted events as a run of the project's skill, as `optimize` would."""
    scripted = ScriptedRun()
    plan = make_plan(Selection(name, {"seed": seed}, folder=folder))
    with writer_lock(folder, name), closing(Ledger.open(folder)) as ledger:
        record, _ = begin_run(plan, ledger, "auto")
        scripted.run = RecordedRun(plan, ledger, record, scripted)
        with suppress(KilledError if ends is None else type(ends)):
            scripted.run.drive(until(events, ends))
    return scripted


def until(events: Iterable[Event], ends: BaseException | None) -> Iterator[Event]:
    """Tell events of a run, and its end or what ends it."""
    yield RunStarted("rows", "d", "rows", "s", 4)
    yield from events
    if ends is not None:
        raise ends
    yield ENDED


def _text(rules: Iterable[str]) -> str:
    return SKILL + "".join(f"- {rule}\n" for rule in rules)


def _changes(rules: Iterable[str]) -> tuple[Change, ...]:
    edits = (
        Edit(f"s1e{number}", Op.ADD, section="Values", content=f"- {rule}", rationale="It failed.", tasks=("train-0",))
        for number, rule in enumerate(rules, 1)
    )
    return tuple(Change(edit, 3, "") for edit in edits)
