"""Code that an edit opens it closes, and code that is there it does not cut in two."""

import pytest

from skillopt.errors import EditError
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits

DOCUMENT = SkillDocument(
    "---\nname: a\ndescription: b\n---\n# A\n\n- one\n- two\n\n```python\nimport csv\nprint(1)\n```\n\nEnd.\n"
)


def add(anchor: str, content: str) -> str:
    return apply_edits(DOCUMENT, [Edit("e1", Op.ADD, anchor, content=content)]).document.text


@pytest.mark.parametrize("content", ["> ```", "- three\n\n  ~~~", "- three\n  ```\n  x"])
def test_code_that_ends_only_with_its_list_or_quotation_is_refused(content: str) -> None:
    with pytest.raises(EditError, match=r"line \d+ of the new text opens code that nothing closes"):
        add("- two", content)
