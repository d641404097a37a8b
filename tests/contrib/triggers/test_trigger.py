"""`skillopt trigger`: what is measured, what training commits, and what is refused before anything runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.projects import as_json, git, skillopt
from tests.fakes.triggers import EXPENSES, NEAR_MISSES, make_siblings

pytestmark = pytest.mark.process


@pytest.fixture
def siblings(tmp_path: Path) -> Path:
    return make_siblings(tmp_path)


def asked(folder: Path, *arguments: str) -> dict[str, Any]:
    return as_json(folder, "trigger", "expense-claims", *arguments)


def test_recall_false_triggers_and_what_was_loaded_are_shown_with_places(siblings: Path) -> None:
    ended = skillopt(siblings, "trigger", "expense-claims", "--siblings", "--repeats", "1")
    assert ended.returncode == 0
    assert ended.stdout.startswith("1 of 14 (7%, 95% interval 1%")
    assert "taxi receipts.  [(none) 1]  skills/expense-claims/" in (ended.stdout)
    assert "2 turns, beside 2 other skills" in ended.stderr


def test_training_commits_the_description_alone_as_the_draft(siblings: Path) -> None:
    head = git(siblings, "rev-parse", "HEAD")
    (siblings / "skills" / "expense-claims" / "draft.md").write_text("Not committed.\n", encoding="utf-8")
    found = asked(siblings, "--train", "--repeats", "1")
    assert found["outcome"] == "accept"
    assert found["held_out"]["recall_before"]["hits"] == 1
    assert found["held_out"]["recall_after"]["hits"] == 7
    assert found["held_out"]["requests"] == 14
    branch = "skillopt-draft/expense-claims"
    assert git(siblings, "rev-parse", f"{branch}^") == head
    assert git(siblings, "diff", "--name-only", "HEAD", branch) == "skills/expense-claims/SKILL.md"
    changed = git(siblings, "diff", "--unified=0", "HEAD", branch).splitlines()[5:]
    assert [line[:13] for line in changed] == ["-description:", "+description:"]
    message = git(siblings, "log", "-1", "--format=%B", branch)
    assert "Kind: description\n" in message
    assert "Gate: sequential\nGrade: proven\n" in message
    assert "Held-Out: 14 requests, " in message
    assert "Trigger-Error-Spent: 0.0000\n" in message
    assert "Recall-Before: 1/7\nRecall-After: 7/7\n" in message
    assert found["pull_request"] in message
    assert git(siblings, "status", "--porcelain", "--untracked-files=no") == ""
    log = skillopt(siblings, "log", "expense-claims").stdout
    assert "proven" in log
    assert "a person must look at it first: frontmatter" in log


def test_a_description_that_few_requests_judge_is_an_unproven_draft(siblings: Path) -> None:
    rows = [
        *({"query": text, "should_trigger": True} for text in EXPENSES[:9]),
        *({"query": text, "should_trigger": False} for text in NEAR_MISSES[:9]),
    ]
    write_set(siblings, rows)
    ended = skillopt(siblings, "trigger", "expense-claims", "--train", "--repeats", "1")
    draft = "skillopt-draft/expense-claims"
    assert ended.returncode == 0
    assert f"on branch {draft}" in ended.stdout
    assert git(siblings, "diff", "--name-only", "HEAD", draft) == "skills/expense-claims/SKILL.md"
    assert "Grade: likely better\n" in git(siblings, "log", "-1", "--format=%B", draft)


def write_set(folder: Path, rows: object) -> None:
    place = folder / "skills" / "expense-claims" / "evals" / "trigger-evals.json"
    place.write_text(json.dumps(rows, indent=1), encoding="utf-8")


@pytest.mark.parametrize(
    ("rows", "arguments", "problem"),
    [
        (
            [{"query": "a", "should_trigger": True}, {"query": "A", "should_trigger": False}],
            (),
            "skills/expense-claims/evals/trigger-evals.json:6: expected one label for the request 'A'",
        ),
        (
            [{"query": "a", "should_trigger": True}],
            ("--train",),
            "expected at least 4 held-out requests, which can show a gain",
        ),
        (
            [{"query": f"Merge file {at} of the tax office", "should_trigger": at < 10} for at in range(20)],
            ("--train",),
            "found 0 and 20, 20 of them near copies of each other",
        ),
        (
            [{"query": f"{word} {word}{word}", "should_trigger": True} for word in "abcdefghijklmnopqrstuvwxyz"],
            ("--train",),
            "expected held-out requests that should not load 'expense-claims', found none of 13",
        ),
        ([], (), "expected at least one eval, found none"),
        (
            [{"query": "a", "should_trigger": True}],
            ("--harness", "chat/anthropic/claude-haiku-4-5"),
            "expected a harness that lists skills for the model to choose from",
        ),
        ([{"query": "a", "should_trigger": True}], ("--requests", "none.json"), "none.json"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(
    siblings: Path, rows: object, arguments: tuple[str, ...], problem: str
) -> None:
    write_set(siblings, rows)
    ended = skillopt(siblings, "trigger", "expense-claims", *arguments)
    assert ended.returncode == 2
    assert problem in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (siblings / ".skillopt" / "ledger.db").exists()


def test_text_that_is_not_committed_is_not_trained(siblings: Path) -> None:
    place = siblings / "skills" / "expense-claims" / "SKILL.md"
    place.write_text(place.read_text(encoding="utf-8") + "- More.\n", encoding="utf-8")
    ended = skillopt(siblings, "trigger", "expense-claims", "--train")
    assert ended.returncode == 2
    assert "found other text; commit" in ended.stderr


def test_a_paid_agent_without_a_cap_and_a_terminal_is_refused(siblings: Path) -> None:
    ended = skillopt(siblings, "trigger", "expense-claims", "--harness", "claude-code")
    assert ended.returncode == 2
    assert "paid for (28 requests, 3 runs" in ended.stderr
