"""The view of a run's record: every number is the recorded one, and what was not run did not fail."""

from skillopt.gate.decide import Outcome
from skillopt.loop.events import (
    EditRefused,
    EditScreened,
    Event,
    GateDecided,
    PatchTested,
    ReleaseCheckWithheld,
    StepStarted,
    VersionAccepted,
)
from skillopt.reports.load_view import RunRecords, build_view
from skillopt.reports.view import Fate, RunView
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.storage.ledger import ResultRow
from tests.fakes.drafts import changed, graded, grading
from tests.fakes.views import EVENTS, HEAD, START, make_view, verdict

VIEW = make_view()


def test_each_edit_ends_with_the_last_that_befell_it_and_its_reason() -> None:
    found = {edit.edit.id: (edit.fate, edit.version) for edit in VIEW.edits}
    assert found == {
        "s1e3": (Fate.REFUSED, None),
        "s1e1": (Fate.ACCEPTED, 1),
        "s1e2": (Fate.NOT_NEEDED, None),
        "s1e4": (Fate.UNMOVED, None),
        "s2e1": (Fate.REJECTED, None),
    }
    reasons = {edit.edit.id: edit.reason for edit in VIEW.edits}
    assert "once: nothing fails without" in reasons["s1e2"]
    assert "tasks that it cites" in reasons["s1e4"]


def test_an_edit_that_cites_held_out_tasks_is_shown_with_its_train_tasks_only() -> None:
    edit = Edit("s1e9", Op.ADD, content="- X.", tasks=("train1", "val1", "test1", "made up"))
    view = make_view(ended=False, events=(*EVENTS[:2], EditRefused(1, edit, "no")))
    assert view.edits[0].tasks == ("train1",)


def test_a_task_that_was_not_run_under_a_version_is_not_evaluated_rather_than_failed() -> None:
    passed = {row.task: [(cell.passed, cell.repeats) for cell in row.cells] for row in VIEW.heat}
    assert passed["train0"] == [(1, 1), (0, 0)]
    assert passed["train5"] == [(0, 1), (0, 0)]
    assert passed["val5"] == [(1, 2), (2, 2)]
    assert [row.split for row in VIEW.heat] == ["train"] * 10 + ["val"] * 10 + ["test"] * 10


def test_versions_carry_their_commits_and_scores() -> None:
    assert [(version.number, version.commit[:1], version.score) for version in VIEW.versions] == [
        (0, "b", 0.4),
        (1, "c", 0.8),
    ]


def test_a_withheld_release_check_and_a_step_of_which_nothing_came_are_told() -> None:
    view = make_view(ended=False, events=(*EVENTS, StepStarted(1, 3, 2), ReleaseCheckWithheld("no version")))
    assert view.test_withheld == "no version"
    assert [(step.number, step.edits, step.kept, step.end) for step in view.steps] == [
        (1, 3, 1, ""),
        (2, 1, 1, ""),
    ]


def test_what_waits_is_the_newest_draft_since_the_last_version_with_its_edits() -> None:
    assert make_view(events=(*EVENTS[:2], changed("Sort."), changed())).draft is None
    assert make_view(events=(*EVENTS[:2], changed("Sort."), *EVENTS[2:])).draft is None
    view = build_view(HEAD, RunRecords(START, [changed("Sort."), graded("Sort.")], draft=("c" * 40, "")))
    assert view.draft is not None
    assert (view.draft.branch, view.draft.commit, view.draft.grading) == ("skillopt-draft/rows", "c" * 40, grading())
    assert [(edit.edit.id, edit.fate) for edit in view.edits] == [("s1e1", Fate.JOINED)]
    assert view.draft.edits == ("s1e1",)


def test_an_edit_that_nothing_needs_any_more_is_told_so_unless_a_version_has_it() -> None:
    again = "looked at again, nothing failed without it"
    dates, _, upper = (event.edit for event in EVENTS if isinstance(event, EditScreened))
    view = make_view(events=(*EVENTS[:13], EditRefused(3, upper, again), EditRefused(3, dates, again)))
    found = {edit.edit.id: (edit.fate, edit.reason) for edit in view.edits}
    assert found["s2e1"] == (Fate.NOT_NEEDED, again)
    assert found["s1e1"][0] is Fate.ACCEPTED


SPLITS = {"a": "fold 1", "b": "fold 1", "c": "fold 2", "d": "fold 2"}
FIRST = Edit("f1", Op.ADD, section="Values", content="- Sort.", tasks=("a",))
SECOND = Edit("f2", Op.ADD, section="Values", content="- Round.", tasks=("c", "a fold that is not there"))


def folded_view() -> RunView:
    """Each fold taught one edit; the text with both mends all tasks."""
    changes = apply_edits(START.document, [FIRST, SECOND])
    merged = START.with_document(changes.document).digest
    results = [ResultRow(task, START.digest, 0, 0.0, passed=False) for task in "abcd"]
    results += [ResultRow(task, merged, 0, 1.0, passed=True) for task in "abcd"]
    found = verdict(Outcome.ACCEPT, fixed=tuple("abcd"), broken=())
    told: list[Event] = [
        PatchTested(1, (FIRST,), ("a",), ("a",)),
        PatchTested(2, (SECOND,), ("c",), ("c",)),
        GateDecided(2, "edits", changes.changes, found, changes.document.text, folded=True),
        VersionAccepted(1, 1, 2, "edits", changes.document.text, changes.changes, found, 8),
    ]
    return build_view(HEAD, RunRecords(START, told, results, SPLITS))


def test_of_two_folds_both_motivate_edits() -> None:
    view = folded_view()
    assert [edit.tasks for edit in view.edits] == [("a",), ("c",)]
    assert (view.folded, view.splits) == (True, {"fold 1": 2, "fold 2": 2})


def test_each_task_of_a_fold_went_as_under_the_merged_text() -> None:
    view = folded_view()
    passed = [(row.split, [(cell.passed, cell.repeats) for cell in row.cells]) for row in view.heat]
    mended = [(0, 1), (1, 1)]
    assert passed == [("fold 1", mended)] * 2 + [("fold 2", mended)] * 2
