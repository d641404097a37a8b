"""Checks that unpack or apply what the agent left beside the reference: a link to the reference scores nothing."""

import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillopt.rollouts import Trajectory
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import File
from skillopt.verifiers import load_verifier
from tests.contracts.verifier_contract import make_spec
from tests.fakes.projects import git

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here"),
]
RIGHT = "a,b\n1,2\n"
COMPARE = "cmp -s output.csv expected.csv"
Leave = Callable[[Path, str], None]
"""How the agent leaves its output in a folder: as a link to a place, or, without one, as an honest file."""


@pytest.fixture
def workspace() -> Iterator[Path]:
    with Workspace.create() as made:
        yield Path(made.path)


def tar(folder: Path, link: str, kind: bytes = tarfile.SYMTYPE) -> None:
    (folder / "output.csv").write_text(RIGHT, encoding="utf-8")
    with tarfile.open(folder / "r.tar", "w") as archive:
        member = tarfile.TarInfo("output.csv")
        member.type, member.linkname = kind, link
        archive.addfile(member) if link else archive.add(folder / "output.csv", "output.csv")
    (folder / "output.csv").unlink()


def hard_tar(folder: Path, link: str) -> None:
    tar(folder, link, tarfile.LNKTYPE)


def zipped(folder: Path, link: str) -> None:
    member = zipfile.ZipInfo("output.csv")
    member.create_system, member.external_attr = 3, (0o120777 if link else 0o100644) << 16
    with zipfile.ZipFile(folder / "r.zip", "w") as archive:
        archive.writestr(member, link or RIGHT)


def repository(folder: Path, link: str) -> Path:
    """Commit the output in a repository of its own, after an empty commit."""
    made = folder / "work"
    made.mkdir()
    git(made, "init", "--quiet", "--initial-branch=main")
    git(made, "commit", "--quiet", "--allow-empty", "-m", "Begin")
    (made / "output.csv").symlink_to(link) if link else (made / "output.csv").write_text(RIGHT, encoding="utf-8")
    git(made, "add", ".")
    git(made, "commit", "--quiet", "-m", "Add the output")
    return made


def bundle(folder: Path, link: str) -> None:
    git(repository(folder, link), "bundle", "create", "--quiet", str(folder / "r.bundle"), "HEAD", "main")


def patch(folder: Path, link: str) -> None:
    (folder / "r.patch").write_text(git(repository(folder, link), "diff", "HEAD~1") + "\n", encoding="utf-8")


def replaced(folder: Path, link: str) -> None:
    """Commit an output; a false one is replaced by the right one with a ref that only git's reading minds."""
    made = repository(folder, "")
    if link:
        right = git(made, "rev-parse", "HEAD")
        (made / "output.csv").write_text("a,b\n", encoding="utf-8")
        git(made, "commit", "--quiet", "-am", "Change it")
        git(made, "replace", git(made, "rev-parse", "HEAD"), right)
    shutil.move(made / ".git", folder / ".git")


CHECKS: list[tuple[Leave, str, str, str]] = [
    (tar, "r.tar", "expected.csv", f"tar xf r.tar && {COMPARE}"),
    (tar, "r.tar", "/proc/self/cwd/expected.csv", "mkdir t; tar xf r.tar -C t && cmp -s t/output.csv expected.csv"),
    (hard_tar, "r.tar", "expected.csv", f"tar xf r.tar && {COMPARE}; found=$?; rm -f output.csv; exit $found"),
    (zipped, "r.zip", "expected.csv", f"unzip -q r.zip && {COMPARE}"),
    (tar, "r.tar", "expected.csv", f"python3 -c 'import tarfile; tarfile.open(\"r.tar\").extractall()' && {COMPARE}"),
    (hard_tar, "r.tar", "expected.csv", f"python3 -c 'import shutil; shutil.unpack_archive(\"r.tar\")' && {COMPARE}"),
    (bundle, "r.bundle", "../expected.csv", "git clone -q r.bundle got && cmp -s got/output.csv expected.csv"),
    (patch, "r.patch", "expected.csv", f"git apply r.patch && {COMPARE}"),
    (replaced, ".git/**", "replaced", 'test "$(git show HEAD:output.csv)" = "$(cat expected.csv)"'),
]


@pytest.mark.parametrize(("leave", "collect", "link", "script"), CHECKS, ids=[script for *_, script in CHECKS])
@pytest.mark.parametrize("others", [0, 100], ids=["few files", "many files"])
def test_a_link_to_the_reference_scores_nothing_and_honest_work_passes(
    workspace: Path, leave: Leave, collect: str, link: str, script: str, others: int
) -> None:
    if script.startswith("unzip") and shutil.which("unzip") is None:
        pytest.skip("unzip is missing")
    files = (File("expected.csv", RIGHT.encode()), *(File(f"more/{number}", b"") for number in range(others)))
    verifier = load_verifier(make_spec("command", *files, argv=["sh", "-c", script], collect=[collect]))
    for given in (link, ""):
        left = workspace / ("cheat" if given else "honest")
        left.mkdir()
        leave(left, given)
        score = verifier.score(Trajectory(), str(left))
        assert (score.value, score.passed) == ((0.0, False) if given else (1.0, True)), score.feedback


def test_a_check_can_use_locks_between_its_processes(workspace: Path) -> None:
    code = b"from multiprocessing import Lock\nwith Lock():\n    raise SystemExit(0)\n"
    spec = make_spec("command", File("check.py", code), argv=["python", "check.py"], collect=["output.csv"])
    assert load_verifier(spec).score(Trajectory(), str(workspace)).passed


def test_a_plant_without_the_sandbox_shows_that_the_checks_above_would_be_fooled(workspace: Path) -> None:
    tar(workspace, "expected.csv")
    (workspace / "expected.csv").write_text(RIGHT, encoding="utf-8")
    assert subprocess.run(["sh", "-c", f"tar xf r.tar && {COMPARE}"], cwd=workspace, check=False).returncode == 0
