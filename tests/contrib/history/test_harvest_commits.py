"""`skillopt harvest --commits`: merged changes whose own tests tell them from what was before become tasks."""

import contextlib
import json
import sys
from pathlib import Path

import pytest

from skillopt.contrib.history.commit_checks import find_test_command, prove_change
from skillopt.rollouts import Trajectory
from skillopt.sandbox.workspace import Workspace
from skillopt.suites import load_suite
from skillopt.suites.review_file import read_candidates
from skillopt.tasks import File
from skillopt.verifiers import load_verifier
from skillopt.versions.history import merged_changes
from skillopt.versions.repository import Repository
from tests.fakes.merged_history import code_of, commit, make_history, proof_of
from tests.fakes.projects import git, skillopt

pytestmark = pytest.mark.process


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_history(tmp_path / "project", 3)
    return tmp_path / "project"


def waiting(project: Path) -> Path:
    return project / ".skillopt" / "harvest" / "agents"


TESTED = ("harvest", "agents", "--commits", "--test", f"{sys.executable} -m pytest")


def harvest(project: Path, *options: str) -> dict[str, object]:
    ended = skillopt(project, *TESTED, "--json", *options)
    assert ended.returncode in {0, 1}, ended.stderr
    found = json.loads(ended.stdout)
    assert isinstance(found, dict)
    return found


def offered(found: dict[str, object]) -> list[str]:
    """Return the ids of candidates without the digest at their ends."""
    rows = found["candidates"]
    assert isinstance(rows, list)
    return [str(one["id"]).rpartition("-")[0] for one in rows]


def test_changes_with_tests_become_candidates_newest_first_and_the_next_call_goes_on(project: Path) -> None:
    first = harvest(project, "-n", "1")
    second = harvest(project)
    third = harvest(project)

    assert offered(first) == ["2026-01-04-read-what-a-lunch"]
    assert offered(second) == ["2026-01-03-read-what-a-hotel", "2026-01-02-read-what-a-taxi"]
    assert (first["more"], second["left_out"]) == (True, {"checked before": 1})
    assert (third["candidates"], third["left_out"]) == ([], {"checked before": 3})
    entry = read_candidates(waiting(project))[-1]
    assert "2026-01-04; 1 of its tests fail" in entry.path.read_text()
    accepted = skillopt(project, "harvest", "agents", "all", "--accept")
    assert accepted.returncode == 0, accepted.stderr
    suite = load_suite(project / "suites" / "agents")
    (task,) = (task for _, task in suite.splits if "hotel" in task.id)
    paths = [file.path for file in task.placed]
    assert paths == [".gitignore", "ledger/__init__.py", "ledger/taxi.py", "skillopt.toml", "tests/test_taxi.py"]
    verifier = load_verifier(task.verifier_with_inputs)
    for text, passed in ((code_of("hotel"), True), (code_of("hotel", cents=False), False)):
        with (
            Workspace.create([*task.placed, File("ledger/hotel.py", text.encode())]) as folder,
            contextlib.chdir(project),
        ):
            assert verifier.score(Trajectory(), folder.path).passed is passed
    assert not waiting(project).exists()


def test_a_candidate_asks_for_the_change_and_shows_what_was_left_out(tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_history(project, 0)
    how = "Use float_of_last(text) of Okoro by splitting it. Adds tests for it.\n\nCo-authored-by: Bo <bo@corp.example>"
    code = "def float_of_last(text):\n    return float(text.split()[-1])\n\n\n"
    code += "def read_x(text):\n    return float_of_last(text)\n"
    test = "from ledger.x import read_x\n\n\ndef test_x():\n    assert read_x('1 2') == 2\n"
    files = {"ledger/x.py": code, "tests/test_x.py": test}
    asked = "Read slips of Ann Okoro for 10.1.2.3 (#12)\n\nThe last figure of any other slip counts."
    commit(project, files, f"{asked} {how}", 20)
    assert offered(harvest(project)) == ["2026-01-21-read-slips-of-name"]
    (entry,) = read_candidates(waiting(project))
    text = entry.path.read_text(encoding="utf-8")

    assert "- `def read_x(text)` in `ledger/x.py`" in entry.prompt
    assert "message: Use float_of_last(text)" in text
    assert "message: Adds tests" in text
    assert "secrets or personal data" in text
    assert not [word for word in ("Okoro", "bo@corp", "10.1.2.3") if word in text]


def test_what_is_no_task_is_left_out_with_the_reason(tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_history(project, 0)
    asked = "Read slips of this kind, on which the last of all figures is what {} costs"
    bodies = {
        "tram": "import socket; socket.getaddrinfo('example.com', 80)",
        "boat": "import not_there_at_all",
        "train": "assert 1 == 2",
    }
    for name, body in bodies.items():
        files = {f"ledger/{name}.py": code_of(name), f"tests/test_{name}.py": proof_of(name, body)}
        commit(project, files, asked.format(name), 1)
    for name, message in (("bus", "Bus"), ("plane", "Bump version to 2.0")):
        commit(
            project, {f"ledger/{name}.py": code_of(name), f"tests/test_{name}.py": proof_of(name, "pass")}, message, 2
        )
    files = {"ledger/bus.py": code_of("bus") + "\n", "tests/test_bus.py": proof_of("bus", "assert True")}
    commit(project, files, "Read slips of buses again, with another line end below them", 3)
    commit(project, {"ledger/bus.py": code_of("bus") + "\n\n"}, "Only code is changed in this one here", 4)
    files = {"ledger/notes.py": "NOTE = 1\n", "tests/data.json": "{}"}
    commit(project, files, "Keep notes of what was read, so that others see it later", 5)
    found = harvest(project)

    assert found["left_out"] == {
        "its message says too little": 1,
        "its tests need a network": 1,
        "its tests need not_there_at_all, which this environment lacks": 1,
        "its tests fail in this environment": 1,
        "a chore by its message: no behaviour is asked for": 1,
        "passes without the change": 1,
        "its tests are in no file that is run": 1,
    }
    assert (found["looked"], found["with_tests"], found["candidates"]) == (9, 7, [])


def test_a_test_that_is_right_now_and_then_is_left_out_as_flaky(tmp_path: Path) -> None:
    project, counted = tmp_path / "project", tmp_path / "runs"
    make_history(project, 0)
    counted.write_text("", encoding="utf-8")
    body = f"path = __import__('pathlib').Path({str(counted)!r})\n    path.write_text(path.read_text() + 'x')\n"
    body += "    assert len(path.read_text()) != 2"
    files = {"ledger/bus.py": code_of("bus"), "tests/test_bus.py": proof_of("bus", body)}
    commit(project, files, "Read slips of buses, on which the last figure is the one that counts", 9)
    change = next(iter(merged_changes(Repository.find(project), "HEAD", 1)))
    command = find_test_command(project, f"{sys.executable} -m pytest", "none")
    checked = prove_change(project, change, command, (), ("t", "Read."))

    assert "flaky: 1 of 2 runs passed" in checked.reason


def test_merges_renames_and_submodules_are_read_as_what_they_change(tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_history(project, 1)
    git(project, "checkout", "-q", "-b", "side")
    moved = {"ledger/dinner.py": code_of("dinner"), "ledger/taxi.py": None, "tests/test_taxi.py": None}
    commit(project, moved, "Name dinners rather than taxis, since there are none of these left", 21, "Bo Li")
    commit(project, {"tests/test_dinner.py": proof_of("dinner", "pass")}, "Test dinners", 22, "Bo Li")
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendored")
    git(project, "commit", "-qm", "Vendored")
    git(project, "checkout", "-q", "main")
    git(project, "merge", "-q", "--no-ff", "-m", "Merge pull request #9 from bo/side\n\nRead dinners", "side")
    assert len(offered(harvest(project, "-n", "1"))) == 1
    (entry,) = read_candidates(waiting(project))

    assert entry.prompt.startswith("Read dinners\n\nName dinners rather than")
    assert "`def read_dinner(text)` in `ledger/dinner.py`" in entry.prompt
    assert skillopt(project, "harvest", "agents", "all", "--accept").returncode == 0
    ((_, task),) = load_suite(project / "suites" / "agents").splits
    assert [file.path for file in task.verifier.files] == ["tests/test_dinner.py"]
