"""Skills get names that branches and tables can have, and no two the same one."""

import re

from hypothesis import given
from hypothesis import strategies as st

from skillopt.skills.discovery import name_skills, skill_name

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


_PART = st.sampled_from(["skills", "plugins", ".claude", "x", "X", "a", "a-x", "é", "x 2"])


@given(st.lists(st.lists(_PART, min_size=1, max_size=4).map("/".join), unique=True, max_size=12), st.data())
def test_no_two_skills_have_one_name_and_every_name_can_be_a_branch(paths: list[str], data: st.DataObject) -> None:
    configured = data.draw(st.dictionaries(st.sampled_from(paths), _PART, max_size=3)) if paths else {}
    distinct = {skill_name(name): path for path, name in configured.items()}

    named = name_skills(paths, configured={path: name for name, path in distinct.items()})

    assert list(named) == paths
    assert len(set(named.values())) == len(paths)
    assert all(NAME.fullmatch(name) for name in named.values())
