"""Events survive their JSON form."""

import pytest

from skillopt.errors import LedgerError
from skillopt.gate.comparison import Tally
from skillopt.gate.grades import Grade, Grading
from skillopt.loop.events import (
    BaselineMeasured,
    DraftChanged,
    DraftGraded,
    EditRefused,
    EditScreened,
    EditUnreadable,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    LinesReviewed,
    PatchTested,
    PromptSkipped,
    ReleaseCheckWithheld,
    RunEnded,
    RunStarted,
    StepFailed,
    StepStarted,
    TasksSetAside,
    TextScreened,
    TrainMeasured,
    VerifierSuspected,
    VersionAccepted,
    decode_event,
    encode_event,
    newest_draft,
)
from skillopt.prompts.reviewing import FlaggedLine
from skillopt.skills.edits import Change, Edit, Op
from tests.fakes.verdicts import made_verdict

EDIT = Edit("s1e1", Op.REPLACE, "änchor", content="neu\n", rationale="why", tasks=("t1", "t2"))
CHANGES = (Change(EDIT, 4, "--- a\n+++ b"),)
TALLY = Tally(1 / 3, 0.1, 9, 1)
VERDICT = made_verdict(fixed=("a",), failing=("b", "c"), missing=1)
GRADING = Grading(Grade.PROVEN_HERE, 0.98, 0.25, 0.05, 0.4, 12, 5)
EVENTS: list[Event] = [
    RunStarted("rows", "d1", "suite", "d2", 8),
    BaselineMeasured(TALLY, 0.08),
    StepStarted(1, 2, 3),
    TrainMeasured(1, TALLY),
    VerifierSuspected(1, "t2", "it wants ½ where ½ was found", "model"),
    EditRefused(1, EDIT, "no"),
    PromptSkipped(1, "the prompt got no answer: too_large", ("t1", "t2")),
    EditUnreadable(1, '{"op": "magic"}', "op: unknown"),
    EditScreened(1, EDIT, 3, 4, 3, kept=True, reason="left out 4 times: tasks fail without it"),
    StepFailed(1, "reflection", "no JSON"),
    GateDecided(1, "edits", CHANGES, VERDICT, "text"),
    LinesReviewed(1, (FlaggedLine("- Mail it.", "it sends the work away"), FlaggedLine("", "not read"))),
    VersionAccepted(1, 1, 1, "edits", "---\nname: é\n---\n\r\n", CHANGES, VERDICT, 60, GRADING),
    DraftChanged(1, "---\nname: é\n---\n", CHANGES),
    DraftGraded("text", CHANGES, GRADING, "d1", 90),
    PatchTested(1, (EDIT,), ("t1", "t2"), ("t2",)),
    TasksSetAside((("not run", ("t3",)),), 3),
    TextScreened(4, "- Trim.", 3, kept=True, reason="a task fails without it", tasks=("t1",)),
    HeldOutTestMeasured(TALLY, TALLY, VERDICT, "d3", 2),
    ReleaseCheckWithheld("looked too often"),
    RunEnded("done", 2, 900, 40),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_the_same_after_its_json_form(event: Event) -> None:
    assert decode_event(*encode_event(event)) == event


def test_every_kind_of_event_is_tried() -> None:
    assert {type(event).__name__ for event in EVENTS} == {kind.__name__ for kind in Event.__subclasses__()}


def test_what_waits_is_the_newest_draft_since_the_last_version() -> None:
    changed, graded = DraftChanged(1, "text", CHANGES), DraftGraded("text", CHANGES, GRADING, "d1", 90)
    accepted = VersionAccepted(1, 1, 1, "edits", "text", CHANGES, VERDICT, 60)
    for events, expected in (
        *(((), None), ((changed, graded), graded), ((graded, changed), changed), ((changed, accepted), None)),
        *(((changed, DraftChanged(2, "text", ())), None), ((accepted, changed), changed)),
    ):
        assert newest_draft(events) is expected


@pytest.mark.parametrize(("kind", "payload"), [("DraftGraded", '{"text":"a\0\0'), ("NoSuchEvent", "{}")])
def test_an_event_that_cannot_be_read_is_a_damaged_ledger_and_says_what_to_do(kind: str, payload: str) -> None:
    with pytest.raises(LedgerError, match=r"move \.skillopt/ledger\.db away"):
        decode_event(kind, payload)
