"""Few tasks are in two folds: a proposer is shown one at a time and judged on the other, and who saw both is marked."""

from contextlib import closing
from pathlib import Path

import pytest

from skillopt.errors import UsageError
from skillopt.gate.grades import Grade
from skillopt.loop.events import EditRefused, Event, encode_event
from skillopt.project import Selection
from skillopt.runs.evidence import TaskEvidence, evidence
from skillopt.runs.plan import make_plan
from skillopt.runs.proposal import EditsProposal, ProposalResult, check, propose
from skillopt.skills.edits import Edit, Op
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.notes import note_shown, read_shown
from skillopt.tasks import Split
from tests.fakes.projects import git, job, make_unsplit_project, skillopt

pytestmark = pytest.mark.process  # each proposal is tested and judged

RULES = {"email": "- Write e-mail addresses in lower case.", "date": "- Write dates as YYYY-MM-DD."}
TASKS = 24


@pytest.fixture
def selection(tmp_path: Path) -> Selection:
    """Make a measured project whose tasks say nothing of splits."""
    return Selection("rows", folder=make_unsplit_project(tmp_path / "project", TASKS))


def measure(selection: Selection) -> None:
    ended = skillopt(selection.folder or Path(), "evaluate", "rows", "--split", "train")
    assert f"of {TASKS} tasks passed" in ended.stdout


def ids(found: TaskEvidence) -> set[str]:
    return {one.task for one in found.measured}


def proposal(found: TaskEvidence) -> EditsProposal:
    """Propose the rule for each column that the table names, citing the tasks of its rows."""
    edits = []
    for column, rule in RULES.items():
        rows = [line.split(" | ") for line in found.table.splitlines() if f'column "{column}"' in line]
        cited = [name.split()[0] for row in rows for name in row[1].split(", ")]
        edits.append({"op": "add", "section": "Values", "content": rule, "tasks": cited[:4]})
    return EditsProposal.model_validate({"edits": edits, "base": found.base})


def grade(result: ProposalResult) -> Grade | None:
    return result.verdict.grading.grade if result.verdict else None


def test_each_fold_is_shown_alone_and_noted_when_it_was(selection: Selection) -> None:
    root = selection.folder or Path()
    measure(selection)
    assert read_shown(root, "rows") == frozenset()
    first = evidence(selection)
    assert read_shown(root, "rows") == ids(first)
    second = evidence(selection, fold=2)
    assert (first.fold, second.fold) == (1, 2)
    assert len(ids(first)) == len(ids(second)) == TASKS // 2
    assert not ids(first) & ids(second)
    assert [task for task in ids(second) if task in first.table.split()] == []
    with pytest.raises(UsageError, match="train tasks of fold 1"):
        evidence(selection, tasks=[min(ids(second))])


def test_edits_are_judged_on_the_fold_that_they_do_not_cite_and_never_on_both(selection: Selection) -> None:
    measure(selection)
    second = evidence(selection, fold=2)
    mixed = proposal(second).model_dump()
    mixed["edits"][1]["tasks"] = [min(ids(evidence(selection)))]
    (refused,) = check(selection, EditsProposal.model_validate(mixed))
    assert f"of fold 1: {mixed['edits'][1]['tasks'][0]}" in refused.reason
    result = propose(selection, proposal(second))
    assert result.verdict is not None
    assert {pair.task for pair in result.verdict.pairs} == ids(evidence(selection, start="worktree"))


def test_who_saw_one_fold_may_prove_it_and_who_saw_both_gets_proven_here_at_most(selection: Selection) -> None:
    measure(selection)
    offered = proposal(evidence(selection, fold=2))
    assert read_shown(selection.folder or Path(), "rows") == ids(evidence(selection, fold=2))
    honest = propose(selection, offered)
    assert honest.version
    assert grade(honest) is Grade.PROVEN
    git(selection.folder or Path(), "branch", "-D", "skillopt/rows")
    note_shown(selection.folder or Path(), "rows", ids(evidence(selection)))
    less = proposal(evidence(selection, fold=2))
    both = propose(selection, less.model_copy(update={"proposer": "an agent that saw both"}))
    assert not both.version
    assert grade(both) is Grade.PROVEN_HERE
    assert "evidence of tasks" in both.reason
    assert RULES["email"] in git(selection.folder or Path(), "show", "skillopt-draft/rows:skills/rows/SKILL.md")


def test_the_draft_of_a_first_proposal_is_kept_and_named_when_a_second_one_takes_its_place(
    selection: Selection,
) -> None:
    root = selection.folder or Path()
    measure(selection)
    both = [proposal(evidence(selection, fold=number)) for number in (1, 2)]
    first = propose(selection, both[0].model_copy(update={"edits": both[0].edits[:1]}))
    waiting = git(root, "rev-parse", "skillopt-draft/rows")
    other = both[1].edits[0].model_copy(update={"content": "- Always write e-mail addresses in lower case."})
    (root / "edits.json").write_text(both[1].model_copy(update={"edits": (other,)}).model_dump_json())
    second = job(root, "propose", "edits.json", "rows")

    assert first.replaced == ""
    assert "git branch --force skillopt-draft/rows" in second.stdout
    shown = [git(root, "show", f"{one}:skills/rows/SKILL.md") for one in (waiting, "skillopt-draft/rows")]
    assert ["Always" in text for text in shown] == [False, True]
    assert waiting in git(root, "reflog", "--format=%H", "skillopt-draft/rows")


def record(root: Path, number: int, *told: Event) -> None:
    """Record a finished training with what happened in it."""
    with closing(Ledger.open(root)) as ledger:
        run = f"{number:012x}"
        ledger.begin_run(RunRecord(run, "rows", "skills/rows", '["training"]', "c", "s", b"", "", 0))
        for at, event in enumerate(told):
            ledger.append_event(run, at, *encode_event(event))
        ledger.end_run(run, "finished", "done")


def test_refused_edits_are_shown_of_the_fold_alone(selection: Selection) -> None:
    root = selection.folder or Path()
    plan = make_plan(selection, proposer="the reader")
    folds = [[task.id for task in plan.with_fold(number).suite.tasks(Split.TRAIN)] for number in (1, 2)]

    def refused(name: str, *tasks: str) -> EditRefused:
        return EditRefused(1, Edit(name, Op.ADD, section="Values", content=f"- {name}.", tasks=tasks), "unclear")

    record(root, 1, refused("one", folds[0][0]))
    record(root, 2, refused("two", folds[1][0]))
    record(root, 3, refused("both", folds[0][0], folds[1][0]), refused("nothing"))
    found = [evidence(selection, fold=number) for number in (1, 2)]
    assert [len(one.rejected) for one in found] == [1, 1]
    assert [("- one." in str(one.rejected), "- two." in str(one.rejected)) for one in found] == [
        (True, False),
        (False, True),
    ]


def test_evidence_of_nothing_writes_nothing_and_tasks_are_shown_only_where_that_can_be_noted(
    selection: Selection,
) -> None:
    root = selection.folder or Path()
    assert evidence(selection).measured == ()
    assert not (root / ".skillopt").exists()
    measure(selection)
    (root / ".skillopt" / "shown").touch()
    with pytest.raises(UsageError, match="shown/rows"):
        evidence(selection)
