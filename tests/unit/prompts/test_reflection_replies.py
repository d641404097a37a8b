"""Replies are read against the skill that they are about: ids are cut, and a whole rewritten skill becomes edits."""

import json

import pytest

from skillopt.errors import EditError, ReplyError
from skillopt.prompts.proposed_edits import ProposedEdit
from skillopt.prompts.reflection_replies import ReflectionReader, cut_ids, edits_of_rewrite
from skillopt.safety.leaks import index_protected_text
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Op, apply_edits
from skillopt.tasks import Split, Suite, Task, VerifierSpec

SKILL = SkillDocument("---\nname: rows\n---\n# Rows\n\n- Keep ids.\n- Trim.\n\n## Dates\n\n- Use ISO.\n- Trim.\n")
IDS = tuple(f"row-{number:02}" for number in range(6))
SUITE = Suite("rows", tuple((Split.TRAIN, Task(name, f"Do {name}.", VerifierSpec("exact"))) for name in IDS))


def reply(*contents: str) -> str:
    return json.dumps(
        {"edits": [{"op": "add", "section": "Dates", "content": one, "tasks": IDS[:1]} for one in contents]}
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("- Trim cells (row-01, row-02).", "- Trim cells."),
        ("- Trim cells [see tasks row-01 and row-02] first.", "- Trim cells first."),
        ("- Round up, as in `row-03`.\n- Sort.", "- Round up.\n- Sort."),
        ("- In row-01 sort by name.", "- In row-01 sort by name."),
    ],
)
def test_ids_go_where_the_rest_of_the_sentence_says_the_same_without_them(text: str, left: str) -> None:
    assert cut_ids(text, IDS) == left


def test_a_reply_whose_edits_need_an_id_is_asked_for_again_once() -> None:
    read = ReflectionReader(SKILL, IDS, index_protected_text(SUITE))
    assert [edit.text for edit in read(reply("- Trim cells (row-01).")).edits] == ["- Trim cells."]
    with pytest.raises(ReplyError, match="name tasks by their"):
        read(reply("- Sort.", "- In row-01 sort by name."))
    assert [edit.text for edit in read(reply("- In row-01 sort by name.")).edits] == ["- In row-01 sort by name."]


@pytest.mark.parametrize(
    "body",
    [
        "# Rows\n\n- Keep all ids.\n- Trim.\n\n## Dates\n\n- Use ISO.\n- Trim.\n",
        "# Rows\n\n- Keep ids.\n- Trim.\n- Sort.\n- Round.\n\n## Dates\n\n- Use ISO.\n- Trim.\n- Ask.\n",
        "# Rows\n\n- Trim.\n\n## Dates\n\n- Trim.\n",
        "Read this.\n\n# Rows\n\n- Keep ids.\n- Trim.\n\n## Dates\n\n- Use the form that is asked for.\n",
    ],
    ids=["a changed line", "added lines", "deleted lines", "a first line"],
)
def test_a_whole_rewritten_skill_is_read_as_edits_that_lead_to_it(body: str) -> None:
    rewrite = {"op": "rewrite", "content": body, "tasks": IDS[:2]}
    found = ReflectionReader(SKILL)(json.dumps({"edits": [rewrite]})).edits
    after = apply_edits(SKILL, [edit.named(f"e{number}") for number, edit in enumerate(found)]).document
    assert [line for line in after.body.splitlines() if line] == [line for line in body.splitlines() if line]
    assert all(edit.cited == IDS[:2] for edit in found)
    assert all(len(edit.text) < len(body) for edit in found)


def test_a_rewrite_of_two_thousand_lines_is_refused_with_the_reason_and_loses_no_other_edit() -> None:
    edits = [{"op": "rewrite", "content": "- x\n" * 2_000}, {"op": "add", "content": "- y"}]
    found = ReflectionReader(SKILL)(json.dumps({"edits": edits}))
    assert [edit.text for edit in found.edits] == ["- y"]
    ((_, reason),) = found.unread
    assert "rewrite of at most 120" in reason
    with pytest.raises(EditError, match="fewer than 60"):
        edits_of_rewrite(SkillDocument("- a\n" * 60), ProposedEdit(op=Op.REWRITE, content="- b"))
