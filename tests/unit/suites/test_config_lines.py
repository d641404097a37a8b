"""Lines are added to skillopt.toml, and every line that is there stays."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SettingsError
from skillopt.suites.config_lines import add_to_config, quote_toml, skill_header

FILE = Path("skillopt.toml")
TEXT = """\
# Mine.
preset = "default"   # kept

# About the nights.
[nightly]
forge = "none"

[skills.rows]        # the first
path = "skills/rows"
"""


def add(text: str, *top: str, **skills: tuple[str, ...]) -> str:
    return add_to_config(text, FILE, skills, top)


def test_a_skill_gets_its_lines_below_its_header_or_a_table_at_the_end() -> None:
    added = add(TEXT, rows=('suite = "suites/rows"',), new=('path = "skills/new"',))
    begun = TEXT.replace("# the first\n", '# the first\nsuite = "suites/rows"\n')
    assert added == f'{begun}\n[skills.new]\npath = "skills/new"\n'


@pytest.mark.parametrize(
    "text",
    [
        'harness = "demo"\n',  # it is set already
        'skills = {rows = {path = "skills/rows"}}\n',  # an inline table takes no more
        '[skills]\nrows.path = "skills/rows"\n',
    ],
)
def test_a_file_to_which_lines_cannot_be_added_is_refused_with_the_lines_to_add(text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        add(text, 'harness = "codex"', rows=('suite = "suites/rows"',))
    assert str(refused.value).endswith('add:\nharness = "codex"\n\n[skills.rows]\nsuite = "suites/rows"')


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8")))
def test_any_name_and_any_text_are_read_as_they_were_written(name: str, text: str) -> None:
    written = f"{skill_header(name)}\npath = {quote_toml(text)}\n"
    assert tomllib.loads(written) == {"skills": {name: {"path": text}}}
