"""A run made up for tests of reports: its events, the rollouts behind them, and the view of both."""

from typing import Any

from skillopt.gate.comparison import Tally, TaskCosts
from skillopt.gate.decide import Outcome, Verdict
from skillopt.loop.events import (
    BaselineMeasured,
    EditRefused,
    EditScreened,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    PatchTested,
    PromptSkipped,
    RunEnded,
    RunStarted,
    StepFailed,
    StepStarted,
    TasksSetAside,
    TrainMeasured,
    VersionAccepted,
)
from skillopt.reports.load_view import RunRecords, build_view
from skillopt.reports.view import RunView
from skillopt.rollouts import Usage
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Change, Edit, Op
from skillopt.storage.ledger import ResultRow
from skillopt.tasks import Split
from tests.fakes.verdicts import made_verdict

AT = "2026-11-01T02:00:00+00:00"
_TEXT = "---\nname: rows\ndescription: Cleans tables.\n---\n# Rows\n\n## Values\n\n- Trim spaces.\n"
START = Skill("rows", SkillDocument(_TEXT))
TEXTS = (
    _TEXT,
    _TEXT.replace("- Trim spaces.\n", "- Trim spaces.\n- Write dates as YYYY-MM-DD.\n"),
    _TEXT.replace("- Trim spaces.\n", "- Trim spaces.\n- Write dates as YYYY-MM-DD.\n- Upper-case everything.\n"),
)
"""The first skill, the one that is accepted, and one that is rejected after that."""

_DIGESTS = [START.with_document(SkillDocument(text)).digest for text in TEXTS]
SPLITS = {f"{split.value}{number}": split for split in Split for number in range(10)}

_DATES = Edit(
    "s1e1",
    Op.ADD,
    section="Values",
    content="- Write dates as YYYY-MM-DD.",
    rationale="Dates vary.",
    tasks=("train1", "train2"),
)
_CARE = Edit("s1e2", Op.ADD, section="Values", content="- Be careful.", rationale="Care helps.", tasks=("train3",))
_FAST = Edit("s1e4", Op.ADD, section="Values", content="- Be fast.", rationale="Speed helps.", tasks=("train2",))
_WRONG = Edit("s1e3", Op.REPLACE, "- No such line.", content="- X.", rationale="A guess.", tasks=("train1",))
_UPPER = Edit(
    "s2e1", Op.ADD, section="Values", content="- Upper-case everything.", rationale="Seen once.", tasks=("train4",)
)


def verdict(
    outcome: Outcome,
    reason: str = "in a test",
    split: str = "val",
    **found: Any,  # noqa: ANN401 - a test names them by hand
) -> Verdict:
    """Make a verdict on ten tasks that pass or fail; what is not named is the accepted one's."""
    names = [f"{split}{number}" for number in range(10)]
    fixed, broken = found.pop("fixed", names[:5]), found.pop("broken", names[9:])
    same = [name for name in names if name not in (*fixed, *broken)]
    kept = found.pop("kept", 3)
    sides = {"fixed": fixed, "broken": broken, "passing": same[:kept], "failing": same[kept:]}
    return made_verdict(outcome, reason, **sides, **{"confidence": 0.97, **found})


def _change(edit: Edit) -> Change:
    return Change(edit, 8, f"--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1 +1,2 @@\n+{edit.content}")


_ACCEPTED = verdict(
    Outcome.ACCEPT,
    "gain +0.400 at confidence 0.970: 0.900 asked for",
    costs=(TaskCosts(0.0125, 2.5), TaskCosts(None, 2.0)),
)
_REJECTED = verdict(
    Outcome.REJECT,
    "gain -0.200 at confidence 0.100: not better than the incumbent",
    confidence=0.1,
    fixed=(),
    broken=("val0", "val1"),
    kept=6,
)
_HELD_OUT = verdict(
    Outcome.ACCEPT,
    "gain +0.300 at confidence 0.990: at least 0.90 asked for",
    split="test",
    fixed=("test1", "test2", "test3"),
    broken=(),
    kept=5,
)

EVENTS: tuple[Event, ...] = (
    RunStarted("rows", _DIGESTS[0], "vendor tables", "d2", 8),
    BaselineMeasured(Tally(0.4, 0.4, 10, 0), 0.3),
    TrainMeasured(1, Tally(0.3, 0.2, 10, 0)),
    StepStarted(1, 1, 3),
    EditRefused(1, _WRONG, "expected '- No such line.' exactly once in the body, found it nowhere"),
    PatchTested(1, (_DATES, _CARE, _FAST), ("train1", "train2", "train3"), ("train1", "train3")),
    EditScreened(1, _DATES, 2, 2, 2, kept=True, reason="left out 2 times: tasks fail without it"),
    EditScreened(1, _CARE, 1, 1, 0, kept=False, reason="left out once: nothing fails without it"),
    GateDecided(1, "edits", (_change(_DATES),), _ACCEPTED, TEXTS[1], 60),
    VersionAccepted(1, 1, 1, "edits", TEXTS[1], (_change(_DATES),), _ACCEPTED, 60),
    StepStarted(1, 2, 3),
    PatchTested(2, (_UPPER,), ("train4",), ("train4",)),
    EditScreened(2, _UPPER, 1, 1, 1, kept=True, reason="left out once: tasks fail without it"),
    GateDecided(2, "edits", (_change(_UPPER),), _REJECTED, TEXTS[2], 100),
    StepFailed(2, "reflection", "no edit was left to try"),
)
END: tuple[Event, ...] = (
    PromptSkipped(3, "the prompt got no answer: too large", ("train5", "train6")),
    TasksSetAside((("failed under 2 patches", ("train7",)),), 10),
    HeldOutTestMeasured(Tally(0.5, 0.5, 10, 0), Tally(0.8, 0.8, 10, 0), _HELD_OUT),
    RunEnded("all 2 epochs done", 1, 140, 9),
)


def _rows(skill: int, split: str, repeat: int, passed: int, first: int = 0, count: int = 10) -> list[ResultRow]:
    """Return how tasks went under one of the texts: from the first on, so many passed, and only `count` were run."""
    won = range(first, first + passed)
    return [
        ResultRow(f"{split}{task}", _DIGESTS[skill], repeat, float(task in won), task in won) for task in range(count)
    ]


RESULTS = (
    *_rows(0, "val", 0, 4, 5),
    *_rows(0, "val", 2, 4, 6),
    *_rows(1, "val", 2, 9),
    *_rows(1, "val", 3, 8),
    *_rows(2, "val", 3, 6, 2, count=9),
    *_rows(0, "test", 0, 5),
    *_rows(1, "test", 0, 8),
    *_rows(0, "train", 0, 2),
)
HEAD = RunView(
    run="0123456789ab",
    skill="rows",
    started=AT,
    ended="2026-11-01T02:20:00+00:00",
    reason="all 2 epochs done",
    branch="skillopt/rows",
    base="b" * 40,
    suite_digest="d2",
    target="demo v1",
    model="demo v1",
    settings=(("preset", "default"), ("confidence", "0.9")),
    spend={"target": Usage(130, 40_000, 9_000, 1.25), "optimizer": Usage(9, 20_000, 3_000, None)},
)


def make_view(*, ended: bool = True, head: RunView = HEAD, events: tuple[Event, ...] = EVENTS) -> RunView:
    """Put the run together, with or without its end."""
    told = (*events, *(END if ended else ()))
    return build_view(head, RunRecords(START, told, RESULTS, SPLITS, {1: "c" * 40}))
