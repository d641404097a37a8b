"""No is an answer: versions, a draft or single edits are refused, and training remembers it."""

from contextlib import closing
from pathlib import Path

import pytest

from skillopt.storage.ledger import Ledger
from tests.fakes.drafts import changed, graded, run_events
from tests.fakes.projects import FAST, Trained, as_json, git, skillopt

pytestmark = pytest.mark.process


@pytest.fixture
def project(trained: Trained) -> Path:
    """Return a trained project, with a version or more that `main` lacks."""
    return trained[0]


def text(folder: Path, commit: str) -> str:
    return git(folder, "show", f"{commit}:skills/rows/SKILL.md")


class TestDecline:
    def test_what_is_declined_is_marked_and_the_text_of_the_default_branch_is_the_newest(self, project: Path) -> None:
        versions = as_json(project, "log", "rows")["versions"]
        ended = skillopt(project, "decline", "rows", "--reason", "too long\nfor @us")
        assert ended.returncode == 0, ended.stderr
        assert "training will not try" in ended.stdout
        assert text(project, "skillopt/rows") == text(project, "main")
        listed = skillopt(project, "log", "rows").stdout
        (row,) = (line for line in listed.splitlines() if line.startswith(versions[0]["sha"][:10]))
        assert "declined by Tester: too" in row
        assert "declined by" in skillopt(project, "show", versions[0]["sha"]).stdout

    def test_the_next_training_starts_from_there_and_tries_no_refused_edit(self, project: Path) -> None:
        refused = as_json(project, "log", "rows")["edits"]
        declined = as_json(project, "decline", "rows", "--reason", "we never asked for this")
        run = as_json(project, "optimize", "rows", *FAST)["run"]
        with closing(Ledger.open(project, read_only=True)) as ledger:
            assert ledger.run(run).base == declined["commit"]
        contents = {one["edit"]["content"] for one in refused}
        newest = text(project, "skillopt/rows")
        assert not any(content.strip() in newest for content in contents if content)

    def test_taken_back_it_is_the_newest_again(self, project: Path) -> None:
        before = text(project, "skillopt/rows")
        declined = as_json(project, "decline", "rows")["declined"]
        as_json(project, "decline", "--undo", "rows")
        assert text(project, "skillopt/rows") == before
        assert all(one["declined"] is None for one in as_json(project, "log", "rows")["versions"])
        ended = skillopt(project, "decline", "--undo", "rows", declined[-1][:10])
        assert ended.returncode == 2
        assert "found that it is" in ended.stderr

    def test_main_that_moved_is_merged_so_that_the_branch_merges_without_a_conflict(self, project: Path) -> None:
        place = project / "skills" / "rows" / "SKILL.md"
        place.write_text(place.read_text() + "\n- A rule by hand.\n")
        git(project, "commit", "--quiet", "-am", "By hand")
        commit = as_json(project, "decline", "rows")["commit"]
        assert git(project, "rev-parse", f"{commit}^2") == git(project, "rev-parse", "main")
        assert git(project, "merge-tree", "--write-tree", "main", commit) == git(project, "rev-parse", "main^{tree}")


class TestDrop:
    def test_one_edit_goes_and_the_others_stay(self, project: Path) -> None:
        edits = as_json(project, "log", "rows")["edits"]
        before = text(project, "skillopt/rows")
        ended = skillopt(project, "decline", "rows", "1", "--reason", "wrong")
        assert ended.returncode == 0, ended.stderr
        assert f" {git(project, 'rev-parse', 'skillopt/rows')[:10]} --direct" in ended.stdout
        after = text(project, "skillopt/rows")
        assert edits[0]["edit"]["content"].strip() in before
        assert edits[0]["edit"]["content"].strip() not in after
        now = as_json(project, "log", "rows")["edits"]
        assert [one["dropped"] for one in now] == [True, *[False] * (len(edits) - 1)]
        assert "was dropped before" in skillopt(project, "decline", "rows", "1").stderr

    @pytest.mark.parametrize("edit", ["0", "99"])
    def test_an_edit_that_is_not_there_is_a_users_mistake(self, project: Path, edit: str) -> None:
        ended = skillopt(project, "decline", "rows", edit)
        assert ended.returncode == 2
        assert "expected the number" in ended.stderr


class TestDrafts:
    def test_an_edit_of_a_draft_is_taken_out_of_it_and_remembered(self, folder: Path) -> None:
        run_events(folder, changed("Trim.", "Sort."), graded("Trim.", "Sort."))
        as_json(folder, "decline", "rows", "2", "--reason", "no")
        draft = text(folder, "skillopt-draft/rows")
        assert "Trim." in draft
        assert "Sort." not in draft
        assert text(folder, "skillopt/rows") == text(folder, "main")
        listed = skillopt(folder, "log", "rows").stdout
        assert "not graded: edits were dropped" in listed
        assert skillopt(folder, "take", "rows").returncode == 0
        assert "Trim." in text(folder, "skillopt/rows")

    def test_a_declined_draft_is_gone_and_can_be_brought_back(self, folder: Path) -> None:
        run_events(folder, changed("Trim."), graded("Trim."))
        declined = as_json(folder, "decline", "rows", "draft")["declined"]
        assert git(folder, "branch", "--list", "skillopt-draft/rows") == ""
        assert text(folder, "skillopt/rows") == text(folder, "main")
        as_json(folder, "decline", "--undo", "rows", declined[0])
        assert "Trim." in text(folder, "skillopt/rows")
