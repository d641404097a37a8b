"""Where rollouts run is one choice: what is paid, scored and recorded does not depend on it."""

import os
import re
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt import __version__
from skillopt.contrib.ray.cluster import check_node, pack, run_on_node, unpack
from skillopt.errors import SettingsError
from skillopt.execution.drivers import open_cluster
from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Trajectory
from skillopt.sandbox.workspace import Workspace
from skillopt.settings import make_settings
from skillopt.targets.codex.client import CodexHarness
from skillopt.tasks import File, Task, VerifierSpec
from skillopt.testing import ScriptedHarness
from tests.fakes.nodes import BrokenHarness, RowsHarness

SETTINGS = make_settings(("flags", {"harness": "demo", "model": "demo", "sandbox": "none", "max_usd": 10.0}))
NAMES = st.sampled_from(["input.csv", "data/raw/one.txt", "data", "new.txt", "data/two.txt", "deep/er/still.bin"])
PLACED = (File("input.csv", b"a,b\n"), File("data/raw/one.txt", b"one"), File("run.sh", b"#!/bin/sh\n"))


def test_a_node_with_another_target_does_nothing_and_a_failing_disk_is_told_with_its_name() -> None:
    request = RolloutRequest(None, Task("t4", "Say 4.", VerifierSpec("exact"), (File("number", b"4"),)))
    other = run_on_node(RowsHarness("rows 1.0"), "rows 2.0", request)
    assert "target 'rows 2.0', found 'rows 1.0'" in str(other)
    assert str(run_on_node(BrokenHarness(OSError), "broken", request)).startswith("on node ")


@pytest.mark.parametrize(
    ("harness", "expected", "said"),
    [
        (RowsHarness(), ("0.0.9", "rows"), f"expected skillopt 0.0.9 as here, found {__version__}; install"),
        (ScriptedHarness(lambda *_: Trajectory()), (__version__, "rows"), "expected the target 'rows' as here, found"),
        (CodexHarness(program="none"), (__version__, "codex"), "cannot run the target: missing_program: expected"),
        (RowsHarness(), (__version__, "rows"), "expected a key in OPENAI_API_KEY, found none; set it there"),
    ],
)
def test_a_node_that_differs_is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, harness: Harness, expected: tuple[str, str], said: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert re.match(rf"node \S+:? {re.escape(said)}", check_node(harness, expected, SETTINGS, "openai"))


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "skillopt.contrib.ray.cluster")
    chosen = make_settings(("flags", {"harness": "demo", "model": "demo", "ray": "auto"}))
    with pytest.raises(SettingsError, match="install 'PATH"):
        open_cluster(chosen, RowsHarness(), (), own=False)


def contents(folder: str) -> dict[str, object]:
    """Read all of a folder: files by content and mode, links by where they lead, folders as a word."""
    found: dict[str, object] = {}
    for place in sorted(Path(folder).rglob("*")):
        name = place.relative_to(folder).as_posix()
        if place.is_symlink():
            found[name] = f"link to {place.readlink()}"
        else:
            found[name] = "folder" if place.is_dir() else (place.read_bytes(), os.access(place, os.X_OK))
    return found


@given(st.dictionaries(NAMES, st.binary(max_size=20) | st.none()))
def test_a_workspace_arrives_as_it_was_left(changes: dict[str, bytes | None]) -> None:
    with Workspace.create(PLACED) as there, Workspace.create(PLACED) as here:
        Path(there.path, "link").symlink_to("input.csv")
        for name, content in changes.items():
            place = Path(there.path, name)
            if content is None or place.is_dir() or any(one.is_file() for one in place.parents):
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        unpack(pack(there.path), here.path)
        assert contents(here.path) == contents(there.path)


def test_nothing_arrives_outside_of_the_workspace(tmp_path: Path) -> None:
    hostile = BytesIO()
    with tarfile.open(fileobj=hostile, mode="w") as archive:
        outside, kept = tarfile.TarInfo("../escaped.txt"), tarfile.TarInfo("kept.txt")
        outside.size = kept.size = 4
        archive.addfile(outside, BytesIO(b"evil"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
        archive.addfile(kept, BytesIO(b"good"))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    unpack(hostile.getvalue(), str(workspace))
    assert contents(str(tmp_path)) == {"workspace": "folder", "workspace/kept.txt": (b"good", False)}
