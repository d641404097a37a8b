"""Proposals: each fold is shown alone, what repeats tasks or a refusal is refused, counted and told."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mcp import Client

from skillopt.errors import UsageError
from skillopt.gate.grades import Grade
from skillopt.project import Project, Selection
from skillopt.runs.evidence import TaskEvidence, evidence
from skillopt.runs.proposal import EditsProposal, ProposalResult, check, propose
from skillopt.storage.notes import MOST_A_DAY, count_refused, note_refused, note_shown, read_shown
from skillopt_mcp.server import make_server
from tests.fakes.drafts import accepted, run_events
from tests.fakes.mcp_clients import say
from tests.fakes.projects import git, make_project, make_unsplit_project, skillopt

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
    assert RULES["email"] in git(selection.folder or Path(), "show", "skillopt-draft/rows:skills/rows/SKILL.md")


def edit_of(content: str) -> EditsProposal:
    edit = {"op": "add", "section": "Values", "content": content, "tasks": ["train0"]}
    return EditsProposal.model_validate({"edits": [edit]})


def suite_digest(selection: Selection) -> str:
    return Project.find(selection.folder or Path()).target(selection).suite().first_fold_suite.digest


@pytest.fixture
def leaky(tmp_path: Path) -> Selection:
    folder = make_project(tmp_path / "project")
    suite = folder / "suites" / "rows.jsonl"
    rows = [json.loads(line) for line in suite.read_text().splitlines()]
    for row in rows:
        row["prompt"] += f" Leave the {row['id']} ledger of the northern branch as it was found on the first day."
    suite.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return Selection("rows", folder=folder)


LEAK = "- Leave the val1 ledger of the northern branch as it was found on the first day."


def test_each_new_one_counts_as_a_look_and_the_same_one_again_does_not(leaky: Selection) -> None:
    folder = leaky.folder or Path()
    for content in (LEAK, LEAK, LEAK.replace("val1", "val2")):
        (refused,) = check(leaky, edit_of(content))
        assert "text of a task" in refused.reason
    assert count_refused(folder, "rows", suite_digest(leaky)) == (2, 2)
    assert propose(leaky, edit_of("- Write e-mail addresses in lower case.")).looks == 3


def test_after_many_within_a_day_none_is_looked_at_until_the_next(leaky: Selection) -> None:
    folder, digest = leaky.folder or Path(), suite_digest(leaky)
    yesterday = datetime.now(UTC) - timedelta(days=2)
    for number in range(MOST_A_DAY):
        note_refused(folder, "rows", digest, f"old{number}", yesterday)
    assert check(leaky, edit_of("- Write e-mail addresses in lower case.")) == ()
    for number in range(MOST_A_DAY):
        note_refused(folder, "rows", digest, f"new{number}")
    with pytest.raises(UsageError, match="looked at until tomorrow"):
        check(leaky, edit_of("- Write e-mail addresses in lower case."))


EMAIL = "Write e-mail addresses in lower case."
WHY = "our partners send upper case"
EDIT = {"op": "add", "section": "Values", "content": f"- {EMAIL}", "tasks": ["train1", "train3"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a project in which a person refused a rule."""
    made = make_project(tmp_path / "project")
    run_events(made, accepted(EMAIL))
    done = skillopt(made, "decline", "rows", "1", "--reason", WHY)
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.anyio
async def test_through_mcp_the_evidence_tells_the_refusal_and_the_same_text_is_refused_with_it(folder: Path) -> None:
    async with Client(make_server(folder)) as client:
        shown = await say(client, "get_evidence", name="rows")
        base = shown.partition("base `")[2][:12]
        refused = await say(client, "propose_edits", name="rows", base=base, edits=[EDIT])
        assert "No job was started" in await say(client, "job_status")
    (told,) = (line for line in shown.partition("## Refused by people")[2].splitlines() if EMAIL in line)
    assert told.endswith(f"Tester refused it: {WHY}")
    assert "1 of 1 edits cannot" in refused
    assert f"Tester refused '- {EMAIL}': {WHY}" in refused
