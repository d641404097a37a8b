"""Events survive their JSON form."""

from dataclasses import replace

import pytest

from skillopt.errors import LedgerError
from skillopt.gate.comparison import Tally
from skillopt.gate.grades import Grade, Grading
from skillopt.loop.events import (
    BaselineMeasured,
    CapsRaised,
    DraftChanged,
    DraftGraded,
    EditRefused,
    EditScreened,
    EditUnreadable,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    LinesReviewed,
    MemoryUpdated,
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
    event_line,
    newest_draft,
)
from skillopt.prompts.reviewing import FlaggedLine
from skillopt.skills.edits import Change, Edit, Op
from tests.fakes.verdicts import made_verdict

EDIT = Edit("s1e1", Op.REPLACE, "änchor", content="neu\n", rationale="why", tasks=("t1", "t2"))
CHANGES = (Change(EDIT, 4, "--- a\n+++ b"),)
TALLY = Tally(1 / 3, 0.1, 9, 1)
VERDICT = made_verdict(fixed=("a",), failing=("b", "c"), missing=1)
GRADING = Grading(Grade.PROVEN_HERE, 0.98, 0.25, 0.05, 0.4, 12, 5, "5 of 12 tasks changed, all for the better")
NAMED = "s1e1, replace 'änchor' by 'neu'"
EVENTS: list[Event] = [
    RunStarted("rows", "d1", "suite", "d2", 8),
    BaselineMeasured(TALLY, None, 0.08),
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
    MemoryUpdated(1, "notes"),
    HeldOutTestMeasured(TALLY, TALLY, VERDICT, "d3", 2),
    ReleaseCheckWithheld("looked too often"),
    RunEnded("done", 2, 900, 40),
    CapsRaised(200, 1.5, None),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_the_same_after_its_json_form(event: Event) -> None:
    assert decode_event(*encode_event(event)) == event


def test_every_kind_of_event_is_tried() -> None:
    assert {type(event).__name__ for event in EVENTS} == {kind.__name__ for kind in Event.__subclasses__()}


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (RunStarted("rows", "d", "tables", "s", 8), "rows on suite tables: at most 8 steps"),
        (RunStarted("rows", "d", "tables", "s", 0), "rows on suite tables"),
        (TrainMeasured(2, Tally(0.7, 0.25, 8, 1)), "step 2: 2 of 8 train tasks pass"),
        (TrainMeasured(2, Tally(0.7, 0.25, 8, 1), 1), "step 2 (fold 1): 2 of 8 train tasks pass"),
        (
            PatchTested(1, (EDIT, EDIT), ("a", "b", "c"), ("a", "c"), ("a",)),
            "step 1: patch test of 2 edits on 3 failing tasks: 1 fixed, 2 improved or fixed",
        ),
        (
            EditScreened(1, EDIT, 2, 2, 2, kept=True, reason="left out 2 times: tasks fail without it"),
            f"step 1: kept {NAMED}: left out 2 times: tasks fail without it (2 of 2 runs)",
        ),
        (EditRefused(1, EDIT, "it adds\na link"), f"step 1: left out {NAMED}: it adds a link"),
        (DraftChanged(4, "text", CHANGES), "step 4: draft: 1 edit"),
        (DraftChanged(4, "text", ()), "step 4: draft: empty"),
        (
            PromptSkipped(3, "no JSON", tuple("abcdefgh")),
            "reflection 3: no proposal for 8 tasks (a, b, c, d, e, f, …): no JSON",
        ),
        (
            GateDecided(2, "edits", CHANGES, VERDICT, "text"),
            "gate (1 edit): 0 of 3 → 1 of 3 val tasks passed (score 0.00 → 0.33); fixed 1, broke 0: accept",
        ),
        (
            GateDecided(0, "change", (), replace(VERDICT, reason="ok")),
            "gate (change): 0 of 3 → 1 of 3 val tasks passed (score 0.00 → 0.33); fixed 1, broke 0: cannot tell, ok",
        ),
    ],
)
def test_an_event_is_told_in_a_line(event: Event, line: str) -> None:
    assert event_line(event, verbose=True) == line


def test_texts_of_models_cannot_steer_the_terminal_and_are_cut_and_single_edits_are_told_on_request_alone() -> None:
    hostile = EditRefused(1, replace(EDIT, content="\x1b[31m" + "x" * 500), "\x1b[2J" + "y" * 500)
    line = event_line(hostile, verbose=True)
    assert "\x1b" not in line
    assert len(line) < 450
    assert not event_line(hostile)


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
