"""A stamp holds while nothing changed, and vouches for nothing when it cannot know."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.stamps import Stamp

OLD = time.time() - 3600


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """A file, a folder with a file, and nothing; all of it long unchanged."""
    found = [tmp_path / "file", tmp_path / "folder", tmp_path / "nothing"]
    found[0].write_text("a")
    found[1].mkdir()
    (found[1] / "inner").write_text("a")
    for path in (found[0], found[1]):
        os.utime(path, (OLD, OLD))
    return found


def test_a_stamp_holds_while_nothing_changes(paths: list[Path]) -> None:
    assert Stamp.take(paths).holds()


def test_a_stamp_of_what_was_just_changed_does_not_hold(paths: list[Path]) -> None:
    paths[0].write_text("b")
    assert not Stamp.take(paths).holds()


def test_a_change_of_the_same_size_that_keeps_the_time_is_seen(paths: list[Path]) -> None:
    stamp = Stamp.take(paths)
    paths[0].write_text("b")
    os.utime(paths[0], (OLD, OLD))
    assert not stamp.holds()


def test_what_is_renamed_into_a_folder_is_seen(paths: list[Path]) -> None:
    stamp = Stamp.take(paths)
    paths[0].rename(paths[1] / "inner")
    assert not stamp.holds()


def test_what_appears_or_goes_is_seen(paths: list[Path]) -> None:
    stamp = Stamp.take(paths)
    paths[2].mkdir()
    assert not stamp.holds()
    stamp = Stamp.take(paths[:2])
    paths[0].unlink()
    assert not stamp.holds()


def test_a_stamp_ends_by_itself(paths: list[Path]) -> None:
    assert not replace(Stamp.take(paths), until=time.monotonic()).holds()
