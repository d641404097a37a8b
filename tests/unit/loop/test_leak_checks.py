"""A leak in pieces is seen whole, and the fewest edits go for it."""

import json

import pytest

from skillopt.loop.decision import Released
from skillopt.loop.edit_checks import find_leaking_edits
from skillopt.loop.events import EditRefused
from skillopt.loop.optimizer import train
from skillopt.safety.leaks import index_protected_text
from skillopt.settings import make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.tasks import File, Split, Suite, Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored

ROW = ("ORD-0032", "2024-08-11", "Safety gloves", "353.20", "+491702223334")
SUITE = Suite(
    "orders",
    (
        (Split.TRAIN, Task("a", "Tidy the orders.", VerifierSpec("exact"))),
        (
            Split.VAL,
            Task("b", "Tidy.", VerifierSpec("exact", json.dumps({}), (File("expected.csv", ",".join(ROW).encode()),))),
        ),
    ),
)
PROTECTED = index_protected_text(SUITE)
FIRST = SkillDocument("# Tidy\n\n- Trim cells.\n")


def add(name: str, text: str) -> Edit:
    return Edit(name, Op.ADD, content=f"- {text}")


HONEST = add("honest", "Remove empty rows at the end.")
PIECES = [add(f"e{number}", f"A row may have {cell}.") for number, cell in enumerate(ROW)]


def test_of_pieces_that_leak_together_the_fewest_go_and_honest_edits_stay() -> None:
    refused = find_leaking_edits(PROTECTED, FIRST, FIRST, [HONEST, *PIECES])

    gone = [edit for edit, _ in refused]
    kept = [edit for edit in [HONEST, *PIECES] if edit not in gone]
    assert HONEST in kept
    assert 0 < len(gone) < len(PIECES)
    assert find_leaking_edits(PROTECTED, FIRST, FIRST, kept) == []
    assert all("text of a task" in reason for _, reason in refused)


def test_a_piece_that_completes_what_earlier_steps_brought_is_refused_and_an_honest_edit_is_not() -> None:
    document, last = FIRST, None
    for piece in PIECES:
        if find_leaking_edits(PROTECTED, FIRST, document, [piece]):
            last = piece
            break
        document = apply_edits(document, [piece]).document

    assert last is not None
    assert find_leaking_edits(PROTECTED, FIRST, document, [HONEST]) == []


def test_a_leak_that_is_there_already_does_not_refuse_honest_edits() -> None:
    leaked = apply_edits(FIRST, PIECES).document

    assert find_leaking_edits(PROTECTED, FIRST, leaked, [HONEST]) == []


def test_where_one_answer_leaked_already_the_pieces_of_another_are_still_put_together() -> None:
    other = ("ORD-0971", "2023-11-05", "Cable ties")
    tasks = [
        Task(
            name,
            f"Tidy {name}.",
            VerifierSpec("exact", json.dumps({}), (File("expected.csv", ",".join(row).encode()),)),
        )
        for name, row in (("b", ROW), ("c", other))
    ]
    protected = index_protected_text(Suite("two", (*SUITE.splits[:1], *((Split.VAL, task) for task in tasks))))
    brought, last = (add(f"o{number}", f"Look at {cell}.") for number, cell in enumerate(other[:2]))
    leaked = apply_edits(FIRST, [*PIECES, brought]).document

    assert [edit for edit, _ in find_leaking_edits(protected, FIRST, leaked, [HONEST, last])] == [last]


@pytest.mark.parametrize(("first", "refused"), [(FIRST, True), (None, False)])
def test_the_piece_that_completes_an_answer_is_refused_where_a_run_before_brought_the_other_piece(
    first: SkillDocument | None, *, refused: bool
) -> None:
    start = Skill("tidy", apply_edits(FIRST, [add("earlier", f"Look at {ROW[0]}.")]).document)
    piece = json.dumps({"edits": [{"op": "add", "content": f"- Look at {ROW[1]}.", "tasks": ["a"]}]})
    runner = ScriptedRunner(lambda request: scored(request, 0.5), lambda _: piece)
    events = list(train(start, SUITE, make_settings(), runner, Released(start, first=first)))
    reasons = [event.reason for event in events if isinstance(event, EditRefused)]
    texts = [request.skill.text for request in runner.requests if request.skill]
    assert any("text of a task" in reason for reason in reasons) is refused
    assert any(ROW[1] in text for text in texts) is not refused
