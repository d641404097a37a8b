"""Where the default branch moved on, training starts from a commit that merges it."""

from contextlib import suppress
from pathlib import Path

import pytest

from skillopt.errors import RepositoryError
from skillopt.versions.merging import Conflict, StartPlace, start_conflicts, write_start
from skillopt.versions.repository import Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, by_hand, commit, make_repository

AT = "2026-01-05T00:00:00+00:00"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = make_repository(tmp_path / "made")
    commit(made)
    return made


def place(folder: Path) -> StartPlace:
    repository = Repository.find(folder)
    return StartPlace(repository, "rows", FOLDER, repository.branch_tip("rows") or "", repository.head() or "")


class TestPeopleChangedBoth:
    def test_a_sentence_that_both_changed_is_given_twice_and_nothing_moves(self, folder: Path) -> None:
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
