"""The example in the documentation is what the program makes today."""

from pathlib import Path

from tools.example_report import EXAMPLE, make_example


def test_the_example_report_is_up_to_date(tmp_path: Path) -> None:
    made = make_example(tmp_path / "repository")
    assert EXAMPLE.read_text(encoding="utf-8") == made, "run `make docs`"
