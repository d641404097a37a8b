"""Several files are one text to the loop: joined and split without loss, and edited file by file."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import EditError
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.skills.folder import decode_skill, encode_skill, skill_from_files
from skillopt.skills.trained_files import BEGINS_FILE, SkillPlace, join_files, split_text
from skillopt.tasks import File

HEAD = "---\nname: rows\ndescription: Rows.\n---\n"
SCRIPT = "def tidy(cell):\n    # Values\n    return cell.strip()\n"
FILES = {
    "SKILL.md": f"{HEAD}# Rows\n\n- Trim spaces.\n",
    "assets/logo.png": "\x00",
    "references/dates.md": "# Dates\r\n\r\n- Write ISO dates.",
    "references/empty.md": "",
    "references/short.md": "gone\n",
    "scripts/tidy.py": SCRIPT,
}
BOTH = ("references/", "scripts/")


def skill(trained: tuple[str, ...] = BOTH) -> Skill:
    return skill_from_files("rows", tuple(File(path, text.encode()) for path, text in FILES.items()), trained)


def files_after(*edits: Edit, trained: tuple[str, ...] = BOTH) -> dict[str, str]:
    before = skill(trained)
    after = before.with_document(apply_edits(before.document, edits).document)
    return {file.path: file.content.decode() for file in after.shipped}


TEXTS = st.text(st.characters(codec="utf-8")).filter(lambda text: not BEGINS_FILE.search(text))


@given(st.dictionaries(st.sampled_from(["SKILL.md", "references/a.md", "references/b c.md", "scripts/x"]), TEXTS))
def test_splitting_undoes_joining(files: dict[str, str]) -> None:
    files = {"SKILL.md": "", **files}
    assert {part.path: part.text for part in split_text(join_files(files.items(), BOTH))} == files


@given(st.dictionaries(st.sampled_from(["AGENTS.md", "docs/a.md"]), TEXTS, min_size=1))
def test_a_free_document_has_its_own_files_alone(files: dict[str, str]) -> None:
    document = SkillDocument(join_files(files.items(), ("docs/a.md", "AGENTS.md")), ("docs/a.md", "AGENTS.md"))
    assert {part.path: part.text for part in document.parts} == files
    with pytest.raises(EditError, match="found none"):
        apply_edits(document.with_files({}), [Edit("e", Op.ADD, content="- a")])


@pytest.mark.parametrize("trained", [(), ("references/",), BOTH])
def test_what_is_trained_changes_neither_the_files_nor_the_digest(trained: tuple[str, ...]) -> None:
    one = skill(trained)
    assert {file.path: file.content.decode() for file in one.shipped} == FILES
    assert (one.digest, skill(()).text) == (skill(()).digest, FILES["SKILL.md"])
    assert decode_skill("rows", encode_skill(one)) == one
    assert SkillPlace.parse(str(SkillPlace("skills/rows", trained))) == SkillPlace("skills/rows", trained)


def test_edits_of_several_files_are_applied_together_and_each_change_is_of_its_file() -> None:
    edits = (
        Edit("e1", Op.ADD, section="Dates", content="- No times."),
        Edit("e2", Op.REPLACE, "cell.strip()", content="cell.strip().lower()"),
        Edit("e3", Op.ADD, content="- No blank rows."),
        Edit("e4", Op.ADD, content="# Names\n\n- As given.", file="references/names.md"),
        Edit("e5", Op.DELETE, file="references/empty.md"),
        Edit("e6", Op.DELETE, "gone", file="references/short.md"),
    )
    patch = apply_edits(skill().document, edits)
    assert [change.edit.file for change in patch.changes] == [
        *(
            "references/dates.md",
            "scripts/tidy.py",
            "SKILL.md",
            "references/names.md",
            "references/empty.md",
            "references/short.md",
        )
    ]
    assert (
        patch.changes[3].diff
        == "--- a/references/names.md\n+++ b/references/names.md\n@@ -0,0 +1,3 @@\n+# Names\n+\n+- As given."
    )
    found = files_after(*edits)
    assert found["references/dates.md"] == "# Dates\r\n\r\n- Write ISO dates.\r\n- No times."
    assert found["scripts/tidy.py"] == SCRIPT.replace("strip()", "strip().lower()")
    assert found["references/names.md"] == "# Names\n\n- As given.\n"
    assert found.keys() == (FILES.keys() | {"references/names.md"}) - {"references/empty.md", "references/short.md"}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (Edit("e", Op.REPLACE, "return cell.strip()", content="return ("), "scripts/tidy.py: expected a file that can"),
        (Edit("e", Op.ADD, content="x = (", file="scripts/new.py"), "scripts/new.py: expected a file that can be read"),
        (Edit("e", Op.ADD, content="{,}", file="scripts/new.json"), "scripts/new.json: expected a file that can be"),
        (Edit("e", Op.ADD, content="a: [", file="scripts/new.yaml"), "scripts/new.yaml: expected a file that can be"),
        (Edit("e", Op.ADD, content="a b", file="scripts/new.toml"), "scripts/new.toml: expected a file that can be"),
        (Edit("e", Op.ADD, content="x", file="references/../x.md"), "an add of a new file of references/ or scripts/"),
        (Edit("e", Op.REPLACE, "x", content="y", file="references/new.md"), "found file 'references/new.md'"),
        (Edit("e", Op.DELETE, file="SKILL.md"), "the file cannot be deleted"),
        (Edit("e", Op.ADD, content="=== file scripts/a ==="), "begins a file; name the file of an edit instead"),
        (Edit("e", Op.REPLACE, "name: rows", content="name: x", file="SKILL.md"), "is in the frontmatter"),
    ],
)
def test_an_edit_that_leaves_a_file_unusable_or_leaves_its_file_is_refused(edit: Edit, said: str) -> None:
    with pytest.raises(EditError, match=re.escape(said)):
        apply_edits(skill().document, [edit])


def test_a_file_is_not_deleted_and_changed_at_once_and_not_touched_without_agreement() -> None:
    gone = Edit("e1", Op.DELETE, file="scripts/tidy.py")
    for edits, trained, said in (
        (
            [gone, Edit("e2", Op.DELETE, "# Values", file="scripts/tidy.py")],
            BOTH,
            "another edit changes scripts/tidy.py",
        ),
        ([gone], (), "only SKILL.md is trained, found the file 'scripts/tidy.py'"),
        ([gone], ("references/",), "add of a new file of references/, found file 'scripts/tidy.py'"),
    ):
        with pytest.raises(EditError, match=re.escape(said)):
            files_after(*edits, trained=trained)
