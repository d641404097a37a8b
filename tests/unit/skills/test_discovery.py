"""Skills get names that branches and tables can have, and no two the same one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.skills.discovery import name_skills, skill_name

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["."], ["here"]),
        (["skills/tidy", ".claude/skills/sum"], ["tidy", "sum"]),
        (["plugins/a/skills/x", "plugins/b/skills/x"], ["a-x", "b-x"]),
        (["skills/x", ".claude/skills/x", "plugins/a/skills/x"], ["x", "claude-x", "a-x"]),
        (["skills/a/x", "plugins/a/skills/x"], ["skills-a-x", "plugins-a-skills-x"]),
        (["My Skill", "my_skill"], ["my-skill", "my-skill-2"]),
    ],
)
def test_a_skill_has_its_folders_name_and_where_that_occurs_twice_its_paths(paths: list[str], names: list[str]) -> None:
    named = name_skills(paths, "Here")

    assert list(named) == paths
    assert list(named.values()) == names


_PART = st.sampled_from(["skills", "plugins", ".claude", "x", "X", "a", "a-x", "é", "x 2"])


@given(st.lists(st.lists(_PART, min_size=1, max_size=4).map("/".join), unique=True, max_size=12), st.data())
def test_no_two_skills_have_one_name_and_every_name_can_be_a_branch(paths: list[str], data: st.DataObject) -> None:
    configured = data.draw(st.dictionaries(st.sampled_from(paths), _PART, max_size=3)) if paths else {}
    distinct = {skill_name(name): path for path, name in configured.items()}

    named = name_skills(paths, configured={path: name for name, path in distinct.items()})

    assert list(named) == paths
    assert len(set(named.values())) == len(paths)
    assert all(NAME.fullmatch(name) for name in named.values())
