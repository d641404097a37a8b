"""What kinds of edit have brought so far, counted from events alone."""

from skillopt.edits import Change, Edit, Op
from skillopt.events import EditScreened, Event, FailuresNamed, GateDecided
from skillopt.gains import RevisionGains
from skillopt.gate import Outcome, Verdict


def edit(name: str, op: Op) -> Edit:
    content, anchor = ("", "- x") if op is Op.DELETE else ("- x", "- x" if op is Op.REPLACE else "")
    return Edit(name, op, anchor, content=content)


def screened(name: str, op: Op, gain: float, *, kept: bool, tasks: int = 3) -> EditScreened:
    return EditScreened(1, edit(name, op), tasks, 0.25, 0.25 + gain, kept, "")


def gated(outcome: Outcome, gain: float, *edits: Edit) -> GateDecided:
    changes = tuple(Change(one, 0, 0, 1, "") for one in edits)
    return GateDecided(2, "edits", changes, Verdict(outcome, "", 0.25, 0.25 + gain, 0.5, 1, 1, 1, (), (), 0))


def after(*events: Event) -> RevisionGains:
    gains = RevisionGains()
    for event in events:
        gains.note(event)
    return gains


SCREENS = (
    screened("a", Op.ADD, 0.5, kept=True),
    screened("b", Op.ADD, 0.0, kept=False),
    screened("c", Op.DELETE, -0.25, kept=False),
)


def test_nothing_is_said_before_anything_was_tried() -> None:
    assert after().line == ""
    assert after().with_memory("notes") == "notes"
    assert after().order == (Op.ADD, Op.REPLACE, Op.DELETE)


def test_wins_and_the_margin_of_winners_over_losers_are_said_by_kind_of_edit() -> None:
    assert after(*SCREENS).line == "Edits so far: add won 1 of 2 (+0.50); delete won 0 of 1 (+0.25)."
    assert after(*SCREENS).with_memory("notes").splitlines()[1] == "notes"


def test_kinds_of_failure_are_counted_too() -> None:
    named = FailuresNamed(1, (), (("a", "format"), ("c", "format")))
    assert after(named, *SCREENS).line.endswith("about format won 1 of 2 (+0.75).")


def test_a_kind_of_edit_that_wins_comes_before_one_that_was_never_tried_and_that_before_one_that_loses() -> None:
    won, lost = screened("a", Op.DELETE, 0.5, kept=True), screened("b", Op.ADD, 0.0, kept=False)
    assert after(won, lost).order == (Op.DELETE, Op.REPLACE, Op.ADD)


def test_the_gate_has_the_last_word_and_an_undecided_one_has_none() -> None:
    kept = screened("a", Op.ADD, 0.5, kept=True)
    assert "add won 1 of 1" in after(kept, gated(Outcome.INCONCLUSIVE, 0.0, kept.edit)).line
    assert "add won 0 of 1" in after(kept, gated(Outcome.REJECT, -0.1, kept.edit)).line
    assert "add won 1 of 1 (+0.50)" in after(kept, gated(Outcome.ACCEPT, 0.1, kept.edit)).line


def test_edits_that_no_screen_measured_share_the_gain_of_their_candidate() -> None:
    both = (edit("a", Op.ADD), edit("b", Op.REPLACE))
    assert after(gated(Outcome.ACCEPT, 0.5, *both)).line == (
        "Edits so far: add won 1 of 1 (+0.25); replace won 1 of 1 (+0.25)."
    )


def test_a_screen_that_measured_nothing_and_events_of_other_kinds_do_not_count() -> None:
    assert after(screened("a", Op.ADD, 0.0, kept=False, tasks=0), gated(Outcome.ACCEPT, 0.5)).line == ""
