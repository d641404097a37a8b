"""Where the default branch moved on, training starts from a commit that merges it."""

from contextlib import suppress
from pathlib import Path

import pytest

from skillopt.errors import RepositoryError
from skillopt.tasks import File
from skillopt.versions.commit_message import commit_kind
from skillopt.versions.merging import Conflict, StartPlace, start_conflicts, write_start
from skillopt.versions.repository import Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, by_hand, commit, make_repository, text_of

AT = "2026-01-05T00:00:00+00:00"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = make_repository(tmp_path / "made")
    commit(made)
    return made


def place(folder: Path) -> StartPlace:
    repository = Repository.find(folder)
    return StartPlace(repository, "rows", FOLDER, repository.branch_tip("rows") or "", repository.head() or "")


def add_version(folder: Path, start: str) -> str:
    files = (File("SKILL.md", text_of(folder, start).encode() + b"- New.\n"),)
    return commit(folder, files=files, parent=start, expected_tip=start)


class TestTheDefaultBranchMoved:
    def test_training_starts_from_its_text_and_the_next_version_merges_without_a_conflict(self, folder: Path) -> None:
        main = by_hand(folder, "main", "- Trim.", "- Trim all cells.")
        (folder / "README").write_text("Moved on.\n")
        git(folder, "commit", "--quiet", "-am", "More")
        main = git(folder, "rev-parse", "main")
        tip = git(folder, "rev-parse", "skillopt/rows")
        start = write_start(place(folder), AT)
        assert git(folder, "log", "-1", "--format=%P", start).split() == [tip, main]
        assert git(folder, "rev-parse", f"{start}^{{tree}}") == git(folder, "rev-parse", "main^{tree}")
        version = add_version(folder, start)
        assert git(folder, "merge-tree", "--write-tree", "main", version) == git(
            folder, "rev-parse", f"{version}^{{tree}}"
        )
        assert [commit_kind(one) for one in Repository.find(folder).versions("rows")] == [
            "accepted",
            "start",
            "accepted",
        ]


class TestPeopleChangedBoth:
    def test_a_sentence_that_both_changed_is_given_in_both_versions_and_the_branch_is_left_alone(
        self, folder: Path
    ) -> None:
        person = by_hand(folder, "skillopt/rows", "- Trim.", "- Trim most.")
        by_hand(folder, "main", "- Trim.", "- Trim all.")
        assert start_conflicts(place(folder)) == (
            Conflict(f"{FOLDER}/SKILL.md", "- Trim most.\n- Sort.", "- Trim all."),
        )
        with pytest.raises(RepositoryError, match="merge it by hand"):
            write_start(place(folder), AT)
        assert git(folder, "rev-parse", "skillopt/rows") == person


def test_no_merge_driver_of_the_repository_is_run(folder: Path, tmp_path: Path) -> None:
    (folder / ".gitattributes").write_text("*.md merge=own\n")
    git(folder, "add", ".gitattributes")
    git(folder, "commit", "--quiet", "-m", "Merge by a program")
    by_hand(folder, "main", "- Trim.", "- Trim all cells.")
    by_hand(folder, "skillopt/rows", "# Rows", "# All rows")
    git(folder, "config", "merge.own.driver", f"touch {tmp_path / 'marker'}")
    start_conflicts(place(folder))
    with suppress(RepositoryError):
        write_start(place(folder), AT)
    assert not (tmp_path / "marker").exists()
