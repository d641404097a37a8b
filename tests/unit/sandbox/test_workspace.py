import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SuiteError
from skillopt.sandbox.processes import ProcessResult, run_process
from skillopt.sandbox.workspace import (
    Unreadable,
    Workspace,
    changed_files,
    check_path,
    find_files,
    folder_size,
    read_workspace_file,
)
from skillopt.tasks import File

FILES = (File("input.csv", b"a,b\n"), File("deep/er/notes.md", b"\xff"), File("empty", b""))


@pytest.fixture
def folder() -> Iterator[Path]:
    with Workspace.create(FILES) as workspace:
        yield Path(workspace.path)


def run(code: str, folder: Path, timeout: float = 30, **env: str) -> ProcessResult:
    return run_process([sys.executable, "-I", "-c", code], str(folder), env, timeout)


def listed(folder: Path, wanted: Callable[[str], bool] = bool) -> list[str]:
    found = find_files(str(folder), [""], wanted, 1_000)
    assert isinstance(found, list)
    return found


def is_removed(workspace: Workspace) -> bool:
    latest = time.monotonic() + 30
    while Path(workspace.path).exists() and time.monotonic() < latest:
        run_process(["true"], "/", {}, 1)
    return not Path(workspace.path).exists()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("path", ["", "/etc/passwd", "..", "a/../../b", "a//b", "./a", "a/", "a\0b", "..\\a"])
def test_a_path_that_is_not_plain_is_refused_and_nothing_is_left(path: str, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(tmp_path))
        with pytest.raises(SuiteError, match="expected a relative path"), Workspace.create([File(path, b"")]):
            pass

    assert list(tmp_path.iterdir()) == []


@given(st.text())
def test_a_path_that_is_accepted_stays_in_its_folder(path: str) -> None:
    try:
        check_path(path)
    except SuiteError:
        return
    assert os.path.normpath(f"/w/{path}") == f"/w/{path}"


def test_folders_without_permission_and_very_deep_ones_are_removed() -> None:
    with Workspace.create() as workspace:
        code = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
        assert run(code, Path(workspace.path)).status == 0
        locked = Path(workspace.path, "locked")
        locked.mkdir()
        (locked / "file").touch()
        locked.chmod(0)

        # The superuser gets past permissions; nobody is held up by them.
        assert changed_files(workspace.path, ()) in {(), ("locked/file",)}

    assert is_removed(workspace)


def test_a_workspace_of_many_files_is_removed_too_although_nobody_waits_for_it() -> None:
    with Workspace.create([File(f"out/{number}", b"") for number in range(1_100)]) as workspace:
        pass

    assert is_removed(workspace)


def test_a_file_behind_a_link_is_not_found(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    (folder / "out").symlink_to(tmp_path)
    (folder / "secret").symlink_to(tmp_path / "secret")
    os.link(tmp_path / "secret", folder / "other")

    assert find_files(str(folder), ["out/", "out/secret", "secret", "other", "empty"], bool, 9) == ["empty"]


def test_changed_files_are_those_written_and_deleted(folder: Path) -> None:
    assert changed_files(str(folder), FILES) == ()

    (folder / "input.csv").write_bytes(b"a;b\n")
    (folder / "deep/er/notes.md").unlink()
    (folder / "new").mkdir()
    (folder / "new/file").touch()
    (folder / "link").symlink_to("empty")
    os.mkfifo(folder / "pipe")

    assert changed_files(str(folder), FILES) == ("deep/er/notes.md", "input.csv", "link", "new/file", "pipe")


def test_a_file_replaced_by_a_link_to_the_same_text_has_changed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "same").write_bytes(b"a,b\n")
    (folder / "input.csv").unlink()
    (folder / "input.csv").symlink_to(tmp_path / "same")

    assert changed_files(str(folder), FILES) == ("input.csv",)


def test_reading_gives_the_bytes_of_a_file_up_to_the_limit(folder: Path) -> None:
    assert read_workspace_file(str(folder), "deep/er/notes.md", 1) == b"\xff"
    assert read_workspace_file(str(folder), "empty", 0) == b""
    assert read_workspace_file(str(folder), "input.csv", 3) == Unreadable("expected at most 3 bytes, found 4")
    assert read_workspace_file(str(folder), "deep/none", 3) == Unreadable("missing")


@pytest.mark.parametrize("path", ["folder_link/secret", "link", "pipe", "deep", "input.csv/x"])
def test_reading_follows_no_link_and_opens_nothing_but_files(folder: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("secret")
    (folder / "folder_link").symlink_to(tmp_path)
    (folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe")

    found = read_workspace_file(str(folder), path, 100)

    assert isinstance(found, Unreadable)
    assert found.reason.startswith("expected a regular file")


def test_a_copy_holds_the_files_and_leaves_the_rest_out(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "tree").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    (folder / "reward.json").mkdir()
    (folder / "reward.json/x").touch()
    (folder / "script").touch(0o755)

    with Workspace.copy(str(folder), listed(folder, lambda path: not path.startswith("reward.json"))) as copy:
        assert contents(Path(copy.path)) == {file.path: file.content for file in FILES} | {"script": b""}
        assert os.access(Path(copy.path, "script"), os.X_OK)
        assert changed_files(copy.path, [*FILES, File("script", b"")]) == ()


@pytest.mark.parametrize("obstacle", ["link", "file", "folder", "nothing"])
def test_files_placed_in_a_copy_win_over_whatever_stands_there(folder: Path, tmp_path: Path, obstacle: str) -> None:
    for place in (folder / "check.py", folder / "tests"):
        match obstacle:
            case "link":
                place.symlink_to(tmp_path)
            case "file":
                place.write_text("mine")
            case "folder":
                (place / "inner").mkdir(parents=True)

    with Workspace.copy(str(folder), listed(folder), [File("check.py", b"1"), File("tests/a.py", b"2")]) as copy:
        found = contents(Path(copy.path))

    assert (found["check.py"], found["tests/a.py"]) == (b"1", b"2")
    assert list(tmp_path.iterdir()) == []


def test_the_size_counts_sparse_files_in_full(folder: Path) -> None:
    with (folder / "sparse").open("wb") as file:
        file.truncate(10**12)

    assert folder_size(str(folder), on_disk=False) >= 10**12


def test_a_program_has_no_input_and_a_minimal_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")

    ended = run(
        "import os, sys; print(sys.stdin.read(), *sorted(os.environ)); print(os.environ['HOME'])", folder, A="1"
    )

    names, home = ended.stdout.splitlines()
    # macOS and the C locale add names of their own.
    assert set(names.split()) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} == {"A", "HOME", "LANG", "PATH", "TMPDIR"}
    assert home != os.environ["HOME"]
    assert not Path(home).exists()


def test_a_program_that_takes_too_long_is_killed_with_its_children(folder: Path) -> None:
    code = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""
    ended = run(code, folder, timeout=2)

    assert ended.timed_out
    assert ended.status == -9
    assert is_gone(int(ended.stdout))


def test_children_that_are_left_behind_are_killed(folder: Path) -> None:
    code = """
import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid)
"""
    ended = run(code, folder)

    assert (ended.status, ended.timed_out) == (0, False)
    assert is_gone(int(ended.stdout))


def is_gone(pid: int) -> bool:
    """Return whether a process has ended; a dead one that nobody waits for still has a line in /proc."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_a_child_that_left_the_group_does_not_hold_up_the_end(folder: Path) -> None:
    code = """
import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True).pid)
"""
    ended = run(code, folder)
    os.kill(int(ended.stdout), 9)

    assert (ended.status, ended.timed_out) == (0, False)


def test_of_a_long_output_the_first_and_the_last_part_are_kept(folder: Path) -> None:
    code = "print('first' + 'x' * 5_000_000 + 'last', end='')"

    ended = run_process([sys.executable, "-I", "-c", code], str(folder), {}, 30, output_limit=1000)

    assert ended.stdout.startswith("firstx")
    assert ended.stdout.endswith("xlast")
    assert "\n[... 4999009 bytes left out ...]\n" in ended.stdout
    assert len(ended.stdout) < 1100


def test_what_lies_over_64_folders_deep_takes_disk_and_is_neither_listed_nor_copied(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 65)
    deep.mkdir(parents=True)
    (deep / "far").write_bytes(b"x" * 100_000)
    (deep.parent / "near").write_bytes(b"x")

    assert folder_size(str(tmp_path), on_disk=True) >= 100_000
    assert [Path(name).name for name in changed_files(str(tmp_path), ())] == ["near"]
    with Workspace.copy(str(tmp_path), listed(tmp_path)) as copy:
        assert {path.name for path in Path(copy.path).rglob("*") if path.is_file()} == {"near"}
