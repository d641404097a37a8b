"""Looking back at versions: graph, show, words, blame, on real git and a real ledger."""

import json
import subprocess
from pathlib import Path

import pytest

from skillopt.tasks import File
from skillopt.versions.repository import NewVersion, Repository
from tests.fakes.projects import SKILL, Trained, git, make_project, skillopt

pytestmark = pytest.mark.process

EMAIL, DATES, OTHER = "- Write e-mail addresses in lower case.\n", "- Write dates as YYYY-MM-DD.\n", "- Be careful.\n"
HOSTILE = "- Never \x1b[31m\u202e do that.\n"


def version(folder: Path, text: str, subject: str, *trailers: tuple[str, str]) -> str:
    """Commit a version by hand, as training would."""
    repository = Repository.find(folder)
    tip = repository.branch_tip("rows")
    draft = NewVersion(
        skill="rows",
        path="skills/rows",
        files=(File("SKILL.md", text.encode()),),
        subject=subject,
        body="",
        trailers=(("Skill", "rows"), *trailers),
        at="2026-01-02T03:04:05+00:00",
        parent=tip or repository.head() or "",
        expected_tip=tip,
    )
    return repository.commit_version(draft)


def scores(before: float, after: float) -> tuple[tuple[str, str], ...]:
    return (
        *(("Val-Before", str(before)), ("Val-After", str(after)), ("Val-Expected", f"{after - 0.05:.2f}")),
        *(("Wins-Ties-Losses", "3/5/0"), ("Confidence", "0.97")),
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Five versions: both rules, a third one, the dates lost, another line, and a text that would steer a terminal."""
    folder = make_project(tmp_path_factory.mktemp("written") / "project")
    texts = [EMAIL + DATES, EMAIL + DATES + OTHER, EMAIL + OTHER, EMAIL + OTHER + "- Sort.\n", EMAIL + OTHER + HOSTILE]
    shas = [
        version(folder, SKILL + text, f"rows: change {number}", *scores(0.5, 0.5 + number / 10))
        for number, text in enumerate(texts, 1)
    ]
    return folder, shas


def copy(folder: Path, place: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", "--no-local", folder, place], check=True)
    git(place, "branch", "skillopt/rows", "origin/skillopt/rows")
    return place


def test_in_a_clone_show_and_blame_tell_what_the_commits_say(trained: Trained, tmp_path: Path) -> None:
    folder = copy(trained[0], tmp_path / "copy")
    shown = skillopt(folder, "show", "skillopt/rows").stdout
    for told in ("Val-After: ", "+- ", "(tasks train"):
        assert told in shown
    found = json.loads(skillopt(folder, "show", trained[1]["versions"][0][:10], "--json").stdout)
    assert found["kind"] == "accepted"
    assert all(edit["tasks"] for edit in found["edits"])
    lines = json.loads(skillopt(folder, "show", "rows", "--lines", "--json").stdout)["lines"]
    assert {line["run"] for line in lines if line["version"]} == {trained[1]["run"]}
    assert not (folder / ".skillopt").exists()


def test_words_are_marked_as_gone_and_new(written: tuple[Path, list[str]]) -> None:
    folder, shas = written
    shown = skillopt(folder, "diff", "rows", shas[3], shas[4], "--words").stdout
    assert f"--- SKILL.md, {shas[3][:10]} -> {shas[4][:10]}" in shown
    assert "- [-Sort-]{+Never \\x1b[31m\\u202e do that+}." in shown or "[-- Sort.-]" in shown
    assert not {"\x1b", "\u202e"} & set(shown)
    assert "are the same" in skillopt(folder, "diff", "rows", shas[3], shas[3], "--words").stdout
    found = json.loads(skillopt(folder, "diff", "rows", shas[0], shas[1], "--words", "--json").stdout)
    assert [piece["kind"] for piece in found["files"][0]["hunks"][0]["pieces"]] == ["same", "new"]


def test_blame_names_version_run_and_tasks_of_a_line(trained: Trained) -> None:
    folder, result = trained
    lines = json.loads(skillopt(folder, "show", "rows", "--lines", "--json").stdout)["lines"]
    by_people = [line for line in lines if not line["version"]]
    assert "".join(line["text"] + "\n" for line in by_people) == SKILL
    learned = [line for line in lines if line["version"] and line["text"].startswith("- ")]
    assert learned
    assert all(line["run"] == result["run"] and line["tasks"] for line in learned)
    text = learned[0]["text"].removeprefix("- ")
    (row,) = [row for row in skillopt(folder, "show", "rows", "--lines").stdout.splitlines() if text in row]
    assert result["run"] in row
    assert learned[0]["tasks"][0] in row


def test_blame_gives_a_line_that_a_rollback_brought_back_to_whoever_wrote_it(
    written: tuple[Path, list[str]], tmp_path: Path
) -> None:
    folder = copy(written[0], tmp_path / "copy")
    shas = written[1]
    assert skillopt(folder, "rollback", "rows", shas[1]).returncode == 0
    lines = json.loads(skillopt(folder, "show", "rows", "--lines", "--json").stdout)["lines"]
    sources = {line["text"] + "\n": line["commit"] for line in lines}
    assert (sources[EMAIL], sources[DATES], sources[OTHER]) == (shas[0], shas[0], shas[1])


def test_blame_tells_what_people_committed_between_versions(written: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder = copy(written[0], tmp_path / "copy")
    git(folder, "checkout", "--quiet", "skillopt/rows")
    text = (folder / "skills" / "rows" / "SKILL.md").read_text(encoding="utf-8") + "- By hand.\n"
    (folder / "skills" / "rows" / "SKILL.md").write_text(text, encoding="utf-8")
    git(folder, "commit", "--quiet", "-am", "By hand")
    by_hand = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "--quiet", "--detach")
    newest = version(folder, text + "- Learned.\n", "rows: add a rule", *scores(0.5, 0.6))
    lines = {
        line["text"]: line for line in json.loads(skillopt(folder, "show", "rows", "--lines", "--json").stdout)["lines"]
    }
    assert (lines["- By hand."]["commit"], lines["- By hand."]["version"]) == (by_hand, False)
    assert (lines["- Learned."]["commit"], lines["- Learned."]["version"]) == (newest, True)
