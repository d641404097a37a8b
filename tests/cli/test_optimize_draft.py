"""What `optimize` says of the draft at its end, by a loop whose events are scripted, and `propose` of its own."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from skillopt.loop.events import Event
from skillopt_mcp.skill_details import describe_skill
from skillopt_mcp.version_tools import read_skill_tool
from tests.fakes.drafts import changed, graded, until
from tests.fakes.projects import git, skillopt

pytestmark = pytest.mark.process

SHOWN = (("show", "draft"), ("diff", "rows", "draft"))
EMAIL = "Write e-mail addresses in lower case."


def script(monkeypatch: pytest.MonkeyPatch, *events: Event) -> None:
    monkeypatch.setattr("skillopt.execution.calls.train", lambda *_, **__: until(events, None))


def test_it_says_where_the_draft_is_and_what_was_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, changed(EMAIL), graded(EMAIL))
    said = skillopt(folder, "optimize", "rows").stdout
    shown = "likely better (91%)"
    assert f"branch skillopt-draft/rows: {shown}" in said
    assert "next: skillopt take rows " in said
    found = json.loads(skillopt(folder, "optimize", "rows", "--json").stdout)["draft"]
    assert found["commit"] == git(folder, "rev-parse", "skillopt-draft/rows")


def test_a_draft_with_new_code_shows_it_everywhere_and_waits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = "Look codes up with `jq -r .code iso.json`, which `npx iso-codes` gives."
    script(monkeypatch, changed(added), graded(added))

    trained = skillopt(folder, "optimize", "rows").stdout

    for told in (trained, *(skillopt(folder, *command).stdout for command in SHOWN)):
        assert "\n- new code: jq -r .code iso.json\n" in told.replace("`", "")
    report = unescape(skillopt(folder, "report", "rows", "--format", "markdown").stdout)
    assert "- new code: <code>jq -r .code iso.json</code>" in report
    assert "new code: `jq -r .code iso.json`" in read_skill_tool(folder, "rows", "draft", since="start")
    (line,) = [line for line in trained.splitlines() if "look at it first: " in line]
    assert re.search(r"first: program, line \d+ .* 'npx iso-codes'", line)
    assert line in skillopt(folder, "log", "rows").stdout.splitlines()
    why = line.partition("first: ")[2]
    assert [why in text for text in (report, describe_skill(folder, "rows", 1))] == [True, True]
