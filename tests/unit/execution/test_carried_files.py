"""What a rollout left arrives on another machine as it was."""

import os
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import InfrastructureError
from skillopt.execution import carried_files
from skillopt.execution.carried_files import CarriedFiles, pack_changes, unpack_changes
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import File

PLACED = (File("input.csv", b"a,b\n"), File("data/raw/one.txt", b"one"), File("run.sh", b"#!/bin/sh\n"))
NAMES = st.sampled_from(["input.csv", "data/raw/one.txt", "new.txt", "data/two.txt", "deep/er/still.bin"])


def contents(folder: str) -> dict[str, bytes | str]:
    """Read all of a folder: files by content, links by where they lead, folders as a word."""
    found: dict[str, bytes | str] = {}
    for place in sorted(Path(folder).rglob("*")):
        name = place.relative_to(folder).as_posix()
        if place.is_symlink():
            found[name] = f"link to {place.readlink()}"
        else:
            found[name] = "folder" if place.is_dir() else place.read_bytes()
    return found


def carried(source: str, target: str) -> None:
    unpack_changes(pack_changes(source, PLACED), target)


@given(st.dictionaries(NAMES, st.binary(max_size=20) | st.none()))
def test_new_changed_and_deleted_files_arrive_as_they_were_left(changes: dict[str, bytes | None]) -> None:
    with Workspace.create(PLACED) as there, Workspace.create(PLACED) as here:
        for name, content in changes.items():
            place = Path(there.path, name)
            if content is None:
                place.unlink(missing_ok=True)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        carried(there.path, here.path)
        assert contents(here.path) == contents(there.path)


def test_links_modes_and_empty_folders_arrive_too() -> None:
    with Workspace.create(PLACED) as there, Workspace.create(PLACED) as here:
        Path(there.path, "empty").mkdir()
        Path(there.path, "link").symlink_to("input.csv")
        script = Path(there.path, "tool")
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        carried(there.path, here.path)
        assert contents(here.path) == contents(there.path)
        assert os.access(Path(here.path, "tool"), os.X_OK)


def test_a_file_in_place_of_a_folder_and_a_folder_in_place_of_a_file_arrive() -> None:
    with Workspace.create(PLACED) as there, Workspace.create(PLACED) as here:
        Path(there.path, "data/raw/one.txt").unlink()
        Path(there.path, "data/raw").rmdir()
        Path(there.path, "data/raw").write_text("a file")
        Path(there.path, "input.csv").unlink()
        Path(there.path, "input.csv").mkdir()
        Path(there.path, "input.csv/part").write_text("a part")
        carried(there.path, here.path)
        assert contents(here.path) == contents(there.path)


def test_nothing_arrives_outside_of_the_workspace(tmp_path: Path) -> None:
    hostile = BytesIO()
    with tarfile.open(fileobj=hostile, mode="w") as archive:
        outside = tarfile.TarInfo("../escaped.txt")
        outside.size = 3
        archive.addfile(outside, BytesIO(b"bad"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
        kept = tarfile.TarInfo("kept.txt")
        kept.size = 4
        archive.addfile(kept, BytesIO(b"good"))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    unpack_changes(CarriedFiles(hostile.getvalue()), str(workspace))
    assert contents(str(tmp_path)) == {"workspace": "folder", "workspace/kept.txt": b"good"}


def test_a_workspace_that_is_too_large_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried_files, "_MOST_BYTES", 1_000_000)
    with Workspace.create() as there:
        Path(there.path, "large").write_bytes(bytes(2_000_000))
        with pytest.raises(InfrastructureError, match=r"at most 1 MB in its workspace.*found 2 MB.*run_on = "):
            pack_changes(there.path, ())
