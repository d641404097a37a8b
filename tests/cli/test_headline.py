"""Every output tells the same of one run: tasks passed before and after, on the same tasks, to the digit."""

import json
import re
from pathlib import Path

import pytest

from skillopt_mcp.version_tools import list_skills_tool
from tests.fakes.projects import git, make_project, skillopt

pytestmark = pytest.mark.process

FAST = ("--set", "confidence=0.7")
TESTED = re.compile(r"\d+ of \d+ → \d+ of \d+ held-out tasks passed")
GATED = re.compile(r"([\d.]+ of \d+ → [\d.]+ of \d+) (?:val )?tasks passed \((score [\d.]+ → [\d.]+)\)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("headline") / "project")


def test_all_outputs_agree_to_the_digit(folder: Path) -> None:
    ended = skillopt(folder, "optimize", "rows", *FAST)
    assert ended.returncode == 0, ended.stderr
    (gained,) = [line for line in ended.stdout.splitlines() if line.startswith("gained: ")]
    words = gained.removeprefix("gained: ")
    (passed,) = TESTED.findall(words)
    view = json.loads(skillopt(folder, "report", "--json").stdout)
    for told in (ended.stderr, skillopt(folder, "status").stdout):
        assert words in " ".join(told.split())
    whole, score = words.removesuffix(")").split(" (")
    for told in (skillopt(folder, "report").stdout, skillopt(folder, "report", "--format", "html").stdout):
        assert re.search(
            rf"{re.escape(whole)}, \+\d+ (?:percentage )?points .*?; {re.escape(score)}", " ".join(told.split())
        )
    assert view["headline"]["words"] == words
    assert json.loads(skillopt(folder, "status", "--json").stdout)["runs"][0]["headline"]["tasks"] == 8
    assert passed.split(" → ")[1].split()[0] == f"{view['headline']['passed_after']:g}"

    # The version's own gate, whose tasks may be others: console, commit, log, show, reports, server and chart.
    (gate,) = re.findall(rf"gate \(.*?: {GATED.pattern}.*: accept\b", ended.stderr)
    commit = view["versions"][1]["commit"]
    trailers = dict(
        line.split(": ", 1) for line in git(folder, "log", "-1", "--format=%(trailers)", commit).splitlines()
    )
    assert f"{trailers['Val-Before']} → {trailers['Val-After']}" == gate[0]
    assert "score " + trailers["Score"].replace(" to ", " → ") == gate[1]
    words = f"{gate[0]} tasks passed ({gate[1]})"
    assert words in skillopt(folder, "log", "rows").stdout
    assert words in list_skills_tool(folder, "rows")
    for told in (git(folder, "log", "-1", "--format=%B", commit), skillopt(folder, "show", commit).stdout):
        assert words.replace(" tasks", " val tasks") in " ".join(told.split())
    assert f"| {gate[0]} | {gate[1].removeprefix('score ')} |" in skillopt(folder, "report", "-f", "markdown").stdout
    assert [version["passed"] for version in view["versions"][:2]] == gate[0].split(" → ")
