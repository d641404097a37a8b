"""Files as Windows writes them, as far as that can be tested elsewhere: line ends, byte order marks, paths."""

import shutil
from pathlib import Path

import pytest

from skillopt.project import Project
from skillopt.suites import read_tasks
from tools.formats_table import FIXTURES, fixture_of

TEXTS = {".json", ".jsonl", ".yaml", ".yml", ".md", ".toml"}
SHELL = "harbor"
"""Scripts of a container's shell have no other line ends anywhere."""


@pytest.mark.parametrize("name", sorted(folder.name for folder in FIXTURES.iterdir() if folder.name != SHELL))
def test_tasks_with_line_ends_of_windows_are_the_same_tasks(tmp_path: Path, name: str) -> None:
    shutil.copytree(FIXTURES / name, tmp_path / name)
    copy = tmp_path / name / fixture_of(name).relative_to(FIXTURES / name)
    for path in (tmp_path / name).rglob("*"):
        if path.suffix in TEXTS:
            path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    here, there = read_tasks(fixture_of(name)), read_tasks(copy)
    assert [task.id for _, task in there.tasks] == [task.id for _, task in here.tasks]
    assert [task.content_digest for _, task in there.tasks if not task.files] == [
        task.content_digest for _, task in here.tasks if not task.files
    ]
    assert [(one.name, one.line) for one in there.skipped] == [(one.name, one.line) for one in here.skipped]
    assert len(there.triggers) == len(here.triggers)


def test_settings_with_line_ends_and_byte_order_mark_of_windows_are_read(tmp_path: Path) -> None:
    (tmp_path / "skillopt.toml").write_bytes(b'harness = "demo"\r\n\r\n[skills.rows]\r\npath = "skills/rows"\r\n')
    project = Project.read(tmp_path)
    assert project.values == {"harness": "demo"}
    assert set(project.entries) == {"rows"}
