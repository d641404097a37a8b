"""The record of accepted texts: the newest of a text with a target comes first, and clones join their lines."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from skillopt.tasks import Task, VerifierSpec
from skillopt.versions.records import RECORDS, add_records, measured, records_of
from skillopt.versions.refusals import all_lines
from skillopt.versions.remotes import Remote
from skillopt.versions.repository import Repository
from tests.fakes.projects import git
from tests.fakes.repositories import make_repository

TASKS = [Task(name, f"do {name}", VerifierSpec("exact")) for name in ("one", "two")]
NOW = datetime(2026, 11, 1, tzinfo=UTC)
TEXT, OTHER = "ab" * 32, "cd" * 32


def line(passed: int, days: int = 0, text: str = TEXT, target: str = "claude-code 2") -> str:
    found = measured(NOW + timedelta(days=days), "push at 0123456789", (text, target), [(TASKS[0], (passed, 2))])
    return found.model_dump_json()


def counts(repository: Repository, text: str = TEXT, target: str = "claude-code 2") -> list[dict[str, tuple[int, int]]]:
    return [one.of(TASKS) for one in records_of(repository, "rows", text, target)]


def test_a_record_is_of_one_text_and_one_target_and_the_newest_comes_first(tmp_path: Path) -> None:
    repository = Repository.find(make_repository(tmp_path / "one"))
    assert counts(repository) == []
    add_records(repository, "rows", [line(2, days=1), line(0)])
    add_records(repository, "rows", [line(1, text=OTHER), line(1, target="claude-code 3")])
    assert counts(repository) == [{"one": (2, 2)}, {"one": (0, 2)}]
    assert counts(repository, OTHER) == counts(repository, target="claude-code 3") == [{"one": (1, 2)}]


def test_a_line_that_cannot_be_read_is_left_out_and_one_that_is_known_stays_one(tmp_path: Path) -> None:
    repository = Repository.find(make_repository(tmp_path / "one"))
    add_records(repository, "rows", [line(2), "no line", '{"at": "2026-11-01T00:00:00Z"}', line(2)])
    assert len(all_lines(repository, RECORDS)["rows"]) == 1
    assert repository.head() == git(tmp_path / "one", "rev-parse", "HEAD")


def test_two_clones_join_what_they_wrote(tmp_path: Path) -> None:
    one, other = (Repository.find(make_repository(tmp_path / name)) for name in ("one", "other"))
    git(tmp_path, "init", "--quiet", "--bare", "bare.git")
    remotes = [Remote(repository, "origin", str(tmp_path / "bare.git")) for repository in (one, other)]
    add_records(one, "rows", [line(2)])
    add_records(other, "rows", [line(1, days=1)])
    for remote in (*remotes, remotes[0]):
        remote.fetch_lines()
        remote.push_lines("rows")
    assert counts(one) == counts(other) == [{"one": (1, 2)}, {"one": (2, 2)}]
