"""Task files that are odd or broken: each ends soon, and is read or refused with words for the person who wrote it."""

import shutil
from pathlib import Path

import pytest

from skillopt.errors import SuiteError
from skillopt.suites import read_tasks
from tools.formats_table import fixture_of


@pytest.mark.parametrize(
    "error",
    [OSError(21, "Is a directory"), ValueError("bad\nvalue"), TypeError("odd"), RecursionError(), OverflowError()],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_reader_stumbles_over_is_an_error_with_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def stumble(_: Path) -> None:
        raise error

    monkeypatch.setattr("skillopt.suites.formats.native.read_native", stumble)
    path = tmp_path / "suite.yaml"
    path.touch()

    with pytest.raises(SuiteError) as caught:
        read_tasks(path)

    assert str(caught.value).startswith(f"{path}:1: expected a suite that can be read, found: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("folder", ["/", "//", "$HOME", "/app/$NAME", "app", "", "/app/../etc", '["/app"]'])
def test_a_working_folder_that_is_not_known_needs_a_container(tmp_path: Path, folder: str) -> None:
    place = shutil.copytree(fixture_of("harbor") / "evals" / "report", tmp_path / "report")
    (place / "environment/Dockerfile").write_text(f"FROM a\nWORKDIR {folder}\nCOPY orders.csv .\n", encoding="utf-8")

    (skipped,) = read_tasks(tmp_path).skipped

    assert skipped.reason.startswith(f"environment/Dockerfile:2: 'WORKDIR {folder}' needs a container")
