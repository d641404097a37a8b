"""What every format of task files must do, tried on the fixture of each shape."""

import shutil
from pathlib import Path

from skillopt.suites import load_suite, plan_suite, read_tasks
from skillopt.suites.writing import write_suite

_TESTS = Path(__file__).resolve().parents[1]
FIXTURES = {
    place.name: place
    for folder in (_TESTS / "fakes" / "formats", *sorted(_TESTS.glob("contrib/*/shapes")))
    for place in sorted(folder.iterdir())
}
"""Shape of task files → the folder of its fixture: those of the core, then those of packages of contrib."""

_TEXTS = {".json", ".jsonl", ".yaml", ".yml", ".md", ".toml"}
CORE_SHAPES = [shape for shape, place in FIXTURES.items() if place.parent.name == "formats"]


def fixture_of(shape: str) -> Path:
    """Return the skill folder, or else the suite folder, of a fixture."""
    skill = FIXTURES[shape] / "orders"
    return skill if skill.is_dir() else FIXTURES[shape]


class FormatContract:
    """A subclass is parametrised by the shapes of its package."""

    def test_tasks_are_the_same_after_they_were_written(self, shape: str, tmp_path: Path) -> None:
        reading = read_tasks(fixture_of(shape), commands=True)
        if not reading.tasks:
            assert reading.triggers
            return
        for file in write_suite(reading.name, reading.tasks):
            (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file.path).write_bytes(file.content)
        assert read_tasks(tmp_path).tasks == reading.tasks
        assert load_suite(tmp_path).digest == plan_suite(reading).digest

    def test_tasks_with_line_ends_of_windows_are_the_same_tasks(self, shape: str, tmp_path: Path) -> None:
        copy = shutil.copytree(FIXTURES[shape], tmp_path / shape) / fixture_of(shape).relative_to(FIXTURES[shape])
        for path in (tmp_path / shape).rglob("*"):
            if path.suffix in _TEXTS:
                path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        here, there = read_tasks(fixture_of(shape)), read_tasks(copy)
        assert [task.id for _, task in there.tasks] == [task.id for _, task in here.tasks]
        assert [task.content_digest for _, task in there.tasks if not task.files] == [
            task.content_digest for _, task in here.tasks if not task.files
        ]
        assert [(each.name, each.line) for each in there.skipped] == [(each.name, each.line) for each in here.skipped]
        assert len(there.triggers) == len(here.triggers)
