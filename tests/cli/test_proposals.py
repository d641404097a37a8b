"""Proposals: few tasks teach and judge, rounds add up, what repeats tasks or a refusal is refused, counted, told."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mcp import Client

from skillopt.errors import UsageError
from skillopt.gate.grades import Grade
from skillopt.project import Project, Selection
from skillopt.runs.evidence import TaskEvidence, evidence
from skillopt.runs.proposal import EditsProposal, check, propose
from skillopt.storage.locks import MOST_A_DAY, count_refused, note_refused
from skillopt_mcp.server import make_server
from tests.fakes.drafts import accepted, run_events
from tests.fakes.mcp_clients import say
from tests.fakes.projects import git, make_project, make_unsplit_project, skillopt

pytestmark = pytest.mark.process  # each proposal is tested and judged

RULES = {"email": "- Write e-mail addresses in lower case.", "date": "- Write dates as YYYY-MM-DD."}
TASKS = 12
MOST = 70
"""Rollouts of the measurement and of what an agent proposes after it, as docs/in-your-agent.md says."""


@pytest.fixture
def selection(tmp_path: Path) -> Selection:
    """Make a measured project whose tasks say nothing of splits."""
    return Selection("rows", folder=make_unsplit_project(tmp_path / "project", TASKS))


def measure(selection: Selection) -> None:
    ended = skillopt(selection.folder or Path(), "evaluate", "rows", "--split", "train")
    assert f"of {TASKS} tasks passed" in ended.stdout


def proposal(found: TaskEvidence, *columns: str) -> EditsProposal:
    """Propose the rule for columns that the table names, citing the tasks of its rows."""
    edits = []
    for column in columns or RULES:
        rows = [line.split(" | ") for line in found.table.splitlines() if f'column "{column}"' in line]
        cited = [name.split()[0] for row in rows for name in row[1].split(", ")]
        edits.append({"op": "add", "section": "Values", "content": RULES[column], "tasks": cited[:4]})
    return EditsProposal.model_validate({"edits": edits, "base": found.base})


def draft_of(folder: Path) -> str:
    return git(folder, "show", "skillopt-draft/rows:skills/rows/SKILL.md")


def test_few_tasks_all_teach_and_all_judge_and_what_helps_is_proven_here_at_most(selection: Selection) -> None:
    measure(selection)
    found = evidence(selection)
    assert found.folded
    assert len(found.measured) == TASKS
    result = propose(selection, proposal(found))
    assert result.verdict is not None
    assert len(result.verdict.pairs) == TASKS
    assert (result.version, result.verdict.grading.grade) == ("", Grade.PROVEN_HERE)
    assert all(rule in draft_of(selection.folder or Path()) for rule in RULES.values())
    assert TASKS + result.paid_rollouts <= MOST


def test_a_second_proposal_goes_on_from_the_draft_and_one_that_names_the_text_replaces_it(selection: Selection) -> None:
    folder = selection.folder or Path()
    measure(selection)
    begun = evidence(selection)
    first = propose(selection, proposal(begun, "email"))
    assert first.draft is not None
    found = evidence(selection)
    assert found.waits
    assert found.base != begun.base
    assert not [line for line in found.rejected if RULES["email"] in line]
    second = propose(selection, proposal(found, "date"))
    assert second.draft is not None
    assert second.draft.grading is not None
    assert (second.draft.replaced, second.draft.grading.grade) == ("", Grade.PROVEN_HERE)
    assert TASKS + first.paid_rollouts + second.paid_rollouts <= MOST
    assert all(rule in draft_of(folder) for rule in RULES.values())
    begins_anew = propose(selection, proposal(begun, "date"), start="worktree")
    assert begins_anew.draft is not None
    assert begins_anew.draft.replaced == second.draft.commit
    assert RULES["email"] not in draft_of(folder)


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
