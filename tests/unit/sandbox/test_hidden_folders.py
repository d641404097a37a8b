"""What the sandbox hides: wherever a repository keeps the expected answers, and its older ones."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.sandbox import bubblewrap, hidden_folders
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.hidden_folders import answer_folders
from skillopt.sandbox.processes import run_process
from skillopt.sandbox.workspace import Workspace
from skillopt.suites import load_suite
from tests.fakes.projects import git

TASK = '{"id": "a", "prompt": "Do it.", "verifier": {"kind": "exact", "value": "treasure"}}\n'
needs_bwrap = pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here")


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_folders, "_named", set[str]())


def committed(folder: Path) -> Path:
    """Make a repository whose suite holds the answer."""
    (folder / "suites").mkdir(parents=True)
    (folder / "suites" / "s.jsonl").write_text(TASK, encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def linked(tmp_path: Path) -> tuple[Path, set[Path]]:
    main = committed(tmp_path / "main")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    return tmp_path / "linked", {main, main / ".git", tmp_path / "linked"}


def main_of_linked(tmp_path: Path) -> tuple[Path, set[Path]]:
    _, places = linked(tmp_path)
    return tmp_path / "main" / "suites", places


def submodule(tmp_path: Path) -> tuple[Path, set[Path]]:
    inner, outer = committed(tmp_path / "inner"), committed(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(outer, "commit", "--quiet", "-m", "Add sub")
    shutil.rmtree(inner)
    git(outer, "worktree", "add", "--quiet", str(tmp_path / "third"))
    places = {outer, outer / ".git", outer / "sub", outer / ".git/modules/sub", tmp_path / "third"}
    return outer / "sub", places


def worktree_of_submodule(tmp_path: Path) -> tuple[Path, set[Path]]:
    inner, places = submodule(tmp_path)
    git(inner, "worktree", "add", "--quiet", str(tmp_path / "fourth"))
    return tmp_path / "fourth", (places | {tmp_path / "fourth"}) - {tmp_path / "outer" / "sub"}


def bare(tmp_path: Path) -> tuple[Path, set[Path]]:
    git(committed(tmp_path / "first"), "clone", "--quiet", "--bare", "--shared", ".", str(tmp_path / "bare"))
    git(tmp_path / "bare", "worktree", "add", "--quiet", str(tmp_path / "tree"), "main")
    return tmp_path / "tree", {tmp_path / "bare", tmp_path / "tree", tmp_path / "first", tmp_path / "first" / ".git"}


def plain(tmp_path: Path) -> tuple[Path, set[Path]]:
    return tmp_path, {tmp_path}


LAYOUTS = [linked, main_of_linked, submodule, worktree_of_submodule, bare, plain]
Layout = Callable[[Path], tuple[Path, set[Path]]]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_that_is_of_the_repository_is_hidden(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, places = layout(tmp_path)
    monkeypatch.chdir(start)
    assert set(map(Path, answer_folders())) == places


@needs_bwrap
@pytest.mark.parametrize("layout", LAYOUTS[:5])
def test_a_program_in_the_sandbox_finds_no_answer(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, _ = layout(tmp_path)
    monkeypatch.chdir(start)
    assert seen(tmp_path, monkeypatch) == ""


@needs_bwrap
def test_a_suite_elsewhere_is_hidden_once_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evals, project = committed(tmp_path / "evals"), tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    assert "evals/suites/s.jsonl" in seen(tmp_path, monkeypatch)
    load_suite(evals / "suites" / "s.jsonl")
    assert seen(tmp_path, monkeypatch) == ""


def seen(place: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """List the files with the answer that a program in the sandbox finds, where a place is no temporary folder."""
    with monkeypatch.context() as patch, tempfile.TemporaryDirectory(dir=place, prefix="hidden") as temporary:
        patch.setattr(bubblewrap, "_HIDDEN", ("/root",))
        patch.setattr(tempfile, "tempdir", temporary)
        script = f"""cd {place}; grep -rl treasure . 2>/dev/null
            for r in */.git .git bare; do git --git-dir=$r show HEAD:suites/s.jsonl 2>/dev/null; done; true"""
        with Workspace.create() as home, Workspace.create() as workspace:
            argv = Sandbox("bwrap").wrap_check(["/bin/sh", "-c", script], home.path, workspace.path)
            ended = run_process(argv, workspace.path, {}, 30)
    assert (ended.status, ended.stderr) == (0, "")
    return ended.stdout
