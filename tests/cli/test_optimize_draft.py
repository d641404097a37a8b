"""What `optimize` says of the draft at its end, by a loop whose events are scripted, and `propose` of its own."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from skillopt.gate.grades import Grade
from skillopt.loop.events import Event
from skillopt_mcp.skill_details import describe_skill
from skillopt_mcp.version_tools import read_skill_tool
from tests.fakes.drafts import changed, graded, until
from tests.fakes.projects import git, job, skillopt

pytestmark = pytest.mark.process

SHOWN = (("show", "draft"), ("diff", "rows", "draft"))
EMAIL = "Write e-mail addresses in lower case."


def script(monkeypatch: pytest.MonkeyPatch, *events: Event, ends: BaseException | None = None) -> None:
    monkeypatch.setattr("skillopt.execution.calls.train", lambda *_, **__: until(events, ends))


def test_it_says_where_the_draft_is_what_was_shown_and_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, changed(EMAIL), graded(EMAIL))
    said = skillopt(folder, "optimize", "rows").stdout
    shown = "likely better (91%): +18 points (-6 to +36) on 12 tasks"
    assert f"branch skillopt-draft/rows: {shown}" in said
    assert "next: skillopt take rows " in said
    found = json.loads(skillopt(folder, "optimize", "rows", "--json").stdout)["draft"]
    assert found["commit"] == git(folder, "rev-parse", "skillopt-draft/rows")


def test_a_draft_that_waits_for_a_person_says_which_line_and_why_wherever_it_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = "Run `String.fromCharCode(104,105)`."
    script(monkeypatch, changed(encoded), graded(encoded))
    optimized = skillopt(folder, "optimize", "rows").stdout
    why = "a person must look at it first: "
    (line,) = [line for line in optimized.splitlines() if why in line]
    assert re.search(r"first: encoded-text, line \d+ adds text that looks encoded 'fromCharCode'", line)
    assert line in skillopt(folder, "log", "rows").stdout.splitlines()
    assert line.partition(why)[2] in unescape(skillopt(folder, "report", "rows", "--format", "markdown").stdout)
    assert line.partition(why)[2] in describe_skill(folder, "rows", 1)


def test_a_draft_with_new_code_shows_it_everywhere_and_waits_for_a_program_that_reaches_further(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = "Look codes up with `jq -r .code iso.json`, which `npx iso-codes` gives."
    script(monkeypatch, changed(added), graded(added))

    trained = skillopt(folder, "optimize", "rows").stdout

    for told in (trained, *(skillopt(folder, *command).stdout for command in SHOWN)):
        assert "\n- new code: jq -r .code iso.json\n" in told.replace("`", "")
    report = unescape(skillopt(folder, "report", "rows", "--format", "markdown").stdout)
    assert "- new code: <code>jq -r .code iso.json</code>" in report
    assert "new code: `jq -r .code iso.json`" in read_skill_tool(folder, "rows", "draft", since="start")
    assert re.search(r"a person must look at it first: program, line \d+ adds a program .* 'npx iso-codes'", trained)


def test_it_says_why_a_draft_was_not_published(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, graded(EMAIL, grade=Grade.WORSE, probability=0.1))
    said = skillopt(folder, "optimize", "rows").stdout
    assert "published: it is worse: +18" in said
    assert "next: skillopt report " in said


def test_an_interrupted_run_says_where_its_draft_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, changed(EMAIL), ends=KeyboardInterrupt())
    ended = skillopt(folder, "optimize", "rows")
    assert ended.returncode == 130
    assert "branch skillopt-draft/rows, ungraded" in ended.stderr
    assert "same command to continue" in ended.stderr
    assert "draft not graded: its run" in skillopt(folder, "status").stdout


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ("Run `String.fromCharCode(104,105)`.", r"line \d+.*fromCharCode"),
        ("Keep a copy in `~/.rows/x`.", r"line \d+ adds a path to secrets or settings.* '~/.rows/x'"),
    ],
)
def test_a_better_text_that_waits_for_a_person_after_propose_says_which_line_and_why(
    folder: Path, rule: str, named: str
) -> None:
    rules = f"- {EMAIL}\n- Write dates as YYYY-MM-DD.\n- {rule}\n"
    edit = {"op": "add", "section": "Values", "content": rules, "rationale": "r", "tasks": ["train0", "train1"]}
    (folder / "edits.json").write_text(json.dumps({"edits": [edit]}), encoding="utf-8")

    ended = job(folder, "propose", "edits.json", "rows", "--set", "confidence=0.7")

    assert "nothing committed" in ended.stdout
    assert re.search(rf"not a version yet: it is better, and a person must look at it first: {named}", ended.stdout)
