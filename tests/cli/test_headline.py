"""Every output tells the same of one run: tasks passed before and after, on the same tasks, to the digit."""

import json
import re
from pathlib import Path

import pytest

from skillopt_mcp.version_tools import list_skills_tool
from tests.fakes.projects import git, make_project, skillopt

pytestmark = pytest.mark.process

FAST = ("--set", "confidence=0.7")
FIGURE = re.compile(r"[\d.]+ → [\d.]+ of \d+ (?:\S+ )?tasks passed, [+-]\d+ points \(90%: [+-]\d+ to [+-]\d+\)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("headline") / "project")


def test_all_outputs_agree_to_the_digit(folder: Path) -> None:
    ended = skillopt(folder, "optimize", "rows", *FAST)
    assert ended.returncode == 0, ended.stderr
    (gained,) = [line for line in ended.stdout.splitlines() if line.startswith("gained: ")]
    words = gained.removeprefix("gained: ")
    assert FIGURE.search(words)
    view = json.loads(skillopt(folder, "report", "--json").stdout)
    for told in (
        ended.stderr,
        skillopt(folder, "status").stdout,
        skillopt(folder, "report").stdout,
        re.sub("<[^>]*>", "", skillopt(folder, "report", "--format", "html").stdout),
    ):
        assert words in " ".join(told.split())
    assert view["headline"]["words"] == words
    assert json.loads(skillopt(folder, "status", "--json").stdout)["runs"][0]["headline"]["tasks"] == 8

    # The version's own gate, whose tasks may be others: console, commit, log, show, reports, server and chart.
    (gate,) = (line for line in ended.stderr.splitlines() if line.startswith("gate (") and ": accept" in line)
    figure = FIGURE.search(gate)
    assert figure is not None
    commit = view["versions"][1]["commit"]
    words = figure[0].replace(" val", "")
    assert words in " ".join(skillopt(folder, "log", "rows").stdout.split())
    assert words in list_skills_tool(folder, "rows")
    report = skillopt(folder, "report", "-f", "markdown").stdout
    for told in (git(folder, "log", "-1", "--format=%B", commit), skillopt(folder, "show", commit).stdout, report):
        assert figure[0] in " ".join(told.split())


def test_evaluate_lists_regressions_and_what_was_fixed_and_on_request_all_that_differs(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    text = folder / "skills" / "rows" / "SKILL.md"
    better = text.read_text() + "- Write e-mail addresses in lower case.\n"
    git(folder, "checkout", "--quiet", "-b", "better")
    text.write_text(better)
    git(folder, "commit", "--quiet", "-am", "Better")
    compared = ("--of", "main", "--of", "worktree")
    fixed = skillopt(folder, "evaluate", "rows", *compared).stdout.splitlines()
    broken = skillopt(folder, "evaluate", "rows", "--of", "worktree", "--of", "main").stdout.splitlines()
    both = [line.split()[0] for line in fixed if line.startswith(("  fixed", "  broken"))]
    assert set(both) <= {"fixed"}
    for line in broken:
        if line.startswith("  broken "):
            assert re.search(r"passed 100% → 0%, score \d\.\d\d → \d\.\d\d: \S", line)
    verbose = skillopt(folder, "evaluate", "rows", *compared, "-v").stdout
    changed = json.loads(skillopt(folder, "evaluate", "rows", *compared, "--json").stdout)["subjects"][1]["changed"]
    listed = re.findall(r"^  (broken|fixed|worse|better) (val\d+): ", verbose, re.MULTILINE)
    assert listed == [(one["change"], one["task"]) for one in changed]
    assert {name for name, _ in listed} >= set(both) == {"fixed"}
