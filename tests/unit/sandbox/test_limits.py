import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.sandbox.processes import (
    Limits,
    ProcessResult,
    descendants,
    end_inheritors,
    process_numbers,
    rollout_limits,
    run_process,
    verifier_limits,
)
from skillopt.sandbox.workspace import Workspace, folder_size

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are counted in /proc")

MANY = Limits(processes=10_000, memory=1 << 40, disk=1 << 40)
FORKING = """
import os, time
started = 0
while started < 500:
    started += 1
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
time.sleep(60)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with Workspace.create() as made:
        yield Path(made.path)


def run(code: str, folder: Path, limits: Limits) -> ProcessResult:
    return run_process([sys.executable, "-I", "-c", code], str(folder), {"MARK": str(folder)}, 30, limits=limits)


def left_of(folder: Path) -> list[int]:
    """List the processes that inherited the folder's name."""
    found = []
    for number in process_numbers():
        try:
            environment = Path(f"/proc/{number}/environ").read_bytes()
            state = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if f"MARK={folder}".encode() in environment and state != "Z":
            found.append(number)
    return found


def test_a_program_that_starts_others_without_end_is_ended_with_all_of_them(folder: Path) -> None:
    ended = run(FORKING, folder, Limits(40, MANY.memory, MANY.disk))

    assert (ended.exceeded, ended.timed_out) == ("more than 40 processes", False)
    end_inheritors(str(folder))
    assert left_of(folder) == []


def test_a_program_that_takes_memory_without_end_is_ended(folder: Path) -> None:
    code = "x = []\nwhile len(x) < 1000: x.append(b'x' * (8 << 20))"
    ended = run(code, folder, Limits(MANY.processes, 256 << 20, MANY.disk))

    assert "0.2 GiB of memory" in ended.exceeded


def test_a_program_that_fills_its_folder_with_files_is_ended(folder: Path) -> None:
    code = "n = 0\nwhile n < 10_000:\n  n += 1\n  open(str(n), 'wb').write(b'x' * 500_000)"
    ended = run(code, folder, Limits(MANY.processes, MANY.memory, 1 << 20))

    assert "more than 0.0 GiB" in ended.exceeded
    assert folder_size(str(folder), on_disk=True) > 1 << 20


def test_one_file_cannot_become_larger_than_the_limit_on_disk(folder: Path) -> None:
    bounded = "import resource\nwhile resource.getrlimit(resource.RLIMIT_FSIZE)[0] < 0: pass"
    code = f"{bounded}\nopen('large', 'wb').truncate(1 << 30)"
    ended = run(code, folder, Limits(MANY.processes, MANY.memory, 1 << 20))

    assert ended.status != 0
    assert (folder / "large").stat().st_size == 0


def test_a_program_within_its_limits_ends_by_itself(folder: Path) -> None:
    ended = run("import subprocess; subprocess.run(['true']); print('done')", folder, verifier_limits())

    assert ended == ProcessResult(0, "done\n", "")


def test_a_rollout_may_use_no_more_memory_than_there_is() -> None:
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    assert rollout_limits().processes >= 256
    assert verifier_limits().memory <= rollout_limits().memory < there


def test_processes_below_one_are_found_at_any_depth(folder: Path) -> None:
    with subprocess.Popen(["/bin/sh", "-c", "sleep 60 & wait"], cwd=folder) as outer:
        while not (found := descendants(outer.pid)):  # until the shell has started its child
            pass
        assert len(found) == 1
        assert descendants(found[0]) == []
        os.kill(found[0], signal.SIGKILL)
