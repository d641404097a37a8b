"""Training changes no text that people marked `skillopt:keep`."""

import pytest

from skillopt.loop.edit_checks import check_edits
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits

RULE = "- Never drop a total."
REGION = f"<!-- skillopt:begin keep -->\n{RULE}\n<!-- skillopt:end keep -->"
DOCUMENT = SkillDocument(f"# Rows\n\n- Trim.\n\n## Totals\n\n{REGION}\n\n- Sort.\n")


@pytest.mark.parametrize(
    "edit",
    [
        Edit("delete", Op.DELETE, anchor=RULE),
        Edit("replace", Op.REPLACE, anchor="drop a total", content="keep a total"),
        Edit("rewrite", Op.REWRITE, section="Totals", content="- Drop totals."),
        Edit("around", Op.DELETE, anchor=f"{REGION}\n\n- Sort."),
    ],
    ids=lambda edit: edit.id,
)
def test_an_edit_of_kept_text_is_refused_or_leaves_it_as_it_is(edit: Edit) -> None:
    sound, refused = check_edits(DOCUMENT, [edit], allow=())

    after = apply_edits(DOCUMENT, [edit]).document.text if sound else DOCUMENT.text
    assert REGION in after
    assert bool(sound) is not bool(refused)


def test_text_beside_kept_text_can_be_edited() -> None:
    sound, refused = check_edits(
        DOCUMENT, [Edit("beside", Op.REPLACE, anchor="- Sort.", content="- Sort rows.")], allow=()
    )

    assert (len(sound), refused) == (1, ())
