"""The examples in the documentation are what the program makes today."""

import re
from pathlib import Path

import pytest

from tools.generate_examples import EXAMPLES, MAKERS


@pytest.mark.parametrize("kind", sorted({*MAKERS} - {"demo", "prompt"}))  # other tests compare these two
@pytest.mark.docs
def test_each_example_is_what_the_program_makes(tmp_path: Path, kind: str) -> None:
    for name, page in MAKERS[kind](tmp_path / "repository").items():
        assert (EXAMPLES / name).read_text(encoding="utf-8") == page, f"{name} is out of date: run `make docs`"


def test_the_example_of_a_night_ends_as_the_documentation_says() -> None:
    page = (EXAMPLES / "nightly.md").read_text(encoding="utf-8")
    statuses = re.findall(r"^\$ skillopt nightly.*?\n\$ echo \$\?\n(\d+)$", page, re.MULTILINE | re.DOTALL)
    assert statuses == ["3"]
    assert page.count("tidy-tables: pull request opened") == 1
