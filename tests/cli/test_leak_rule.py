"""One rule for leaks: what training and proposals may say passes the change gate, and what it refuses they refuse."""

import json
from pathlib import Path

import pytest

from benchmarks.demo.model import DemoModel
from skillopt.project import Selection
from skillopt.rollouts import Reply
from skillopt.runs.proposal import EditsProposal, check
from tests.fakes.changes import commit, gate
from tests.fakes.projects import SKILL, git, make_unsplit_project, skillopt

pytestmark = pytest.mark.process

RULE = "Write every e-mail address of the table in lower case, whatever it was."
SAID_ONCE = "The third ledger of the northern branch has no stamp on its cover"
ANSWER = "the board meets in the small hall on the first floor"


class _Quoting(DemoModel):
    """The demo model, which says a rule about e-mail addresses in the words of the feedback."""

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        found = DemoModel.reply(self, prompt.replace(f"{RULE}: ", ""), system=system, schema=schema)
        text = found.text.replace("Write e-mail addresses in lower case.", RULE)
        return Reply(text.replace("Lower-case every email address.", RULE), found.usage)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a project in two folds whose verifiers name the rule that was broken."""
    folder = make_unsplit_project(tmp_path / "project", 14)
    suite = folder / "suites" / "rows.jsonl"
    rows = [json.loads(line) for line in suite.read_text().splitlines()]
    for row in rows:
        named = RULE if "email" in row["files"][0]["text"] else "a date"
        table = {"kind": "table", "name": named, "options": {"file": "output.csv", "expected": "expected.csv"}}
        row["verifier"] = {"kind": "checks", "files": row["verifier"]["files"], "checks": [table]}
    rows[0]["verifier"]["checks"][0]["name"] = SAID_ONCE
    rows[1]["verifier"]["files"].append({"path": "minutes.txt", "text": ANSWER})
    suite.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    git(folder, "commit", "-qam", "Name the rules")
    return folder


def test_a_draft_in_the_words_of_its_verifiers_feedback_passes_the_change_gate_after_take(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.demo.model.DemoModel", _Quoting)
    trained = skillopt(folder, "optimize", "rows", "--max-rollouts", "150", "--set", "confidence=0.999")
    assert "draft on branch skillopt-draft/rows" in trained.stdout, trained.stdout + trained.stderr
    taken = skillopt(folder, "take", "rows")
    assert taken.returncode == 0, taken.stderr
    assert RULE in git(folder, "show", "skillopt/rows:skills/rows/SKILL.md")

    code, report = gate(folder, "main", "skillopt/rows")

    assert (code, report["changes"][0]["standing"], report["changes"][0]["findings"]) == (0, "passed", [])


@pytest.mark.parametrize("copied", [SAID_ONCE, ANSWER])
def test_what_the_verifier_of_one_task_has_is_refused_in_a_proposal_as_at_the_change_gate(
    folder: Path, copied: str
) -> None:
    edit = {"op": "add", "section": "Values", "content": f"- {copied}.", "tasks": ["train0"]}
    (refused,) = check(Selection("rows", folder=folder), EditsProposal.model_validate({"edits": [edit]}))
    assert "text of a task" in refused.reason
    git(folder, "checkout", "--quiet", "-b", "change")
    commit(folder, f"{SKILL}- {RULE}\n- {copied}.\n")

    code, report = gate(folder)

    (finding,) = report["changes"][0]["findings"]
    assert (code, report["changes"][0]["standing"], finding["weight"]) == (1, "refused", "refuse")
    assert (finding["rule"].startswith("leak: "), finding["line"]) == (True, len(SKILL.splitlines()) + 2)
