"""What people refused outlives branches: it is on a ref of its own, joined between clones, and follows a rename."""

from pathlib import Path

from skillopt.skills.edits import Edit, Op
from skillopt.versions.decisions import PersonsWord
from skillopt.versions.refusals import read_refusals, refusals_of, refuse, want_again
from skillopt.versions.remotes import Remote
from skillopt.versions.repository import Repository
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, make_repository

ANNA = PersonsWord("Anna", "too long")
REF = "refs/skillopt/refusals/rows"


def say_no(repository: Repository, key: str, *, dropped: bool = False) -> None:
    refuse(repository, ("rows", FOLDER), [(key, Edit("e1", Op.ADD, content=f"- {key}"))], ANNA, dropped=dropped)


def refused(repository: Repository, skill: str = "rows") -> list[str]:
    return [one.key for one in read_refusals(repository, refusals_of(repository, skill))]


def two_clones(place: Path) -> tuple[Repository, Repository]:
    made = make_repository(place / "made")
    git(place, "clone", "--quiet", "--bare", str(made), "bare.git")
    for name in ("one", "other"):
        git(place, "clone", "--quiet", str(place / "bare.git"), name)
    return Repository.find(place / "one"), Repository.find(place / "other")


def reach(repository: Repository) -> Remote:
    found = Remote.find(repository, "origin")
    assert found is not None
    return found


def test_what_two_clones_refused_at_once_is_known_to_both_and_a_third_push_changes_nothing(tmp_path: Path) -> None:
    one, other = two_clones(tmp_path)
    say_no(one, "a" * 12 + "/1")
    say_no(other, "b" * 12 + "/1")
    reach(one).fetch_lines()
    reach(other).fetch_lines()
    reach(one).push_lines("rows")
    reach(other).push_lines("rows")
    assert refused(other) == ["a" * 12 + "/1", "b" * 12 + "/1"]
    reach(one).fetch_lines()
    assert refused(one) == refused(other)
    tip = git(tmp_path / "bare.git", "rev-parse", REF)
    reach(one).push_lines("rows")
    assert git(tmp_path / "bare.git", "rev-parse", REF) == tip


def test_a_version_that_is_wanted_after_all_frees_its_edits_but_not_those_dropped_one_by_one(tmp_path: Path) -> None:
    repository = Repository.find(make_repository(tmp_path))
    say_no(repository, "a" * 12 + "/1")
    say_no(repository, "a" * 12 + "/2", dropped=True)
    say_no(repository, "b" * 12 + "/1")
    want_again(repository, "rows", ["a" * 40])
    assert refused(repository) == ["a" * 12 + "/2", "b" * 12 + "/1"]
