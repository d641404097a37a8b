"""Edits between the default branch and a skill's branch, and the text without some of them."""

from pathlib import Path

import pytest

from skillopt.errors import UsageError
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.tasks import File
from skillopt.versions.decisions import EditLine, edit_trailers
from skillopt.versions.repository import Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, NEW_VERSION, TEXT, by_hand, commit, text_of

SORT = Edit("s1e1", Op.ADD, "- Trim.", "", "- Sort.")
DATES = Edit("s1e2", Op.ADD, "", "", "- Dates.")
ISO = Edit("s2e1", Op.REPLACE, "- Dates.", "", "- Dates as ISO.")
CASE = Edit("s2e2", Op.ADD, "- Sort.", "", "- Lower case.")


def version(folder: Path, *edits: Edit) -> str:
    """Commit a version with edits of the newest text."""
    tip = Repository.find(folder).branch_tip("rows")
    before = SkillDocument(text_of(folder, tip or "main"))
    text = apply_edits(before, edits).document.text.encode()
    trailers = (*NEW_VERSION.trailers, *edit_trailers(edits))
    parent = {"parent": tip} if tip else {}
    return commit(folder, files=(File("SKILL.md", text),), trailers=trailers, expected_tip=tip, **parent)


def line(folder: Path) -> EditLine:
    repository = Repository.find(folder)
    return EditLine.read(repository, "rows", FOLDER, repository.branch_tip("rows") or "", "main")


def without(folder: Path, *numbers: int) -> str:
    found = line(folder)
    return found.text_without([one for one in found.edits if one.number in numbers], "skillopt/rows")


class TestNumbers:
    @pytest.mark.parametrize("how", ["--squash", "--no-ff", "--ff-only"])
    def test_what_an_earlier_pull_request_merged_is_not_offered_again(self, folder: Path, how: str) -> None:
        version(folder, SORT)
        git(folder, "merge", "--quiet", how, "skillopt/rows")
        if how == "--squash":
            git(folder, "commit", "--quiet", "-m", "Squashed")
        assert line(folder).edits == ()
        version(folder, DATES)
        assert [one.edit for one in line(folder).edits] == [DATES]


class TestWithout:
    def test_an_edit_that_another_one_changed_says_what_must_go_with_it(self, folder: Path) -> None:
        version(folder, SORT, DATES)
        second = version(folder, ISO, CASE)
        with pytest.raises(UsageError, match=rf"{second[:12]}.*edit 3 or 4"):
            without(folder, 2)
        assert without(folder, 2, 3) == TEXT.decode() + "- Sort.\n- Lower case.\n"

    def test_lines_that_people_changed_are_not_guessed_at(self, folder: Path) -> None:
        version(folder, SORT, DATES)
        person = by_hand(folder, "skillopt/rows", "- Dates.", "- Dates, as ISO.")
        with pytest.raises(UsageError, match=f"commit {person[:12]} changed"):
            without(folder, 2)
