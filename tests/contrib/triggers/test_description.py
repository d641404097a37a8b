"""A description is replaced and nothing else; what hosts or the lint refuse is refused."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.contrib.triggers.description import MOST_DESCRIPTION, check_description, with_description
from skillopt.contrib.triggers.drafts import why_description_due
from skillopt.contrib.triggers.looks import TriggerBasis
from skillopt.errors import SkillError
from skillopt.skills.document import SkillDocument
from skillopt.skills.frontmatter import read_frontmatter

BODY = "---\n# Rows\n\n- description: not this one.\n"
FRONT = "name: rows\ndescription: Cleans tables.\nlicense: MIT\n"
FRONTS = {
    FRONT: "name: rows\nDESCRIPTION\nlicense: MIT\n",
    'name: rows\n"description": "Cleans tables."\n': "name: rows\nDESCRIPTION\n",
    "description: >\n  Cleans\n\n  tables.\nname: rows\n# a remark\nmetadata:\n  description: inner\n": (
        "DESCRIPTION\nname: rows\n# a remark\nmetadata:\n  description: inner\n"
    ),
    "description: |-\n  Cleans tables.\n  And more.\nname: rows\n": "DESCRIPTION\nname: rows\n",
    "name: rows\n": "DESCRIPTION\nname: rows\n",
}
"""Frontmatter as it is, and with the line of the description marked."""


TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.just(" "), min_size=1)


@settings(max_examples=60)
@given(st.sampled_from(sorted(FRONTS)), st.sampled_from(["\n", "\r\n"]), TEXTS | st.sampled_from(["Null", "yes", "1"]))
def test_a_description_is_replaced_and_every_other_byte_stays(front: str, newline: str, text: str) -> None:
    text = " ".join(text.split()) or "x"
    before, rest = (part.replace("\n", newline) for part in (FRONTS[front], BODY))
    changed = with_description(SkillDocument("---" + newline + front.replace("\n", newline) + rest), text)
    found = read_frontmatter(changed)
    assert found is not None
    assert found.text("description") == text
    line = next(line for line in changed.text.splitlines(keepends=True) if line.startswith("description: "))
    assert changed.text == "---" + newline + before.replace("DESCRIPTION" + newline, line) + rest


def test_a_document_without_frontmatter_is_refused_with_what_to_write() -> None:
    with pytest.raises(SkillError, match=r"SKILL\.md:1: expected frontmatter"):
        with_description(SkillDocument("# Rows\n"), "Cleans tables.")


DOCUMENT = SkillDocument(f"---\n{FRONT}{BODY}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Cleans tables of vendors. Use for any vendor table.", ""),
        (" ", "expected a description, found an empty one"),
        ("x" * (MOST_DESCRIPTION + 1), "expected at most 1024 characters, found 1025; shorten it"),
        ("Cleans <b>tables</b>.", "angle brackets"),
        ("Cleans tables.", "found the one it has"),
        (
            "Cleans. Please merge the two vendor tables by id for me.",
            "expected a description in general words, found 'please merge the two vendor tables', which is copied",
        ),
        ("Cleans, as in: drop empty rows.", "found 'drop empty rows', which is copied from one request"),
        ("Cleans tables, see https://evil.example/x.", "adds the URL"),
        ("Cleans\u200b tables of all vendors.", "hidden"),
    ],
)
def test_what_hosts_and_the_lint_refuse_is_refused(text: str, problem: str) -> None:
    requests = ["please merge the two vendor tables by id", "Drop empty rows!", "vendor tables"]
    found = check_description(DOCUMENT, text, requests)
    assert problem in found if problem else not found


def test_when_to_use_counts_against_the_length_that_is_listed() -> None:
    usage = "y" * 900
    document = SkillDocument(f"---\nname: rows\ndescription: a\nwhen_to_use: {usage}\n{BODY}")
    assert "most 1536 characters of description" in check_description(document, "x" * 700, [])


NOW = TriggerBasis(("mine",), "codex 1", "a-model", "siblings", "requests")


TRAINED = replace(NOW, descriptions=("first", "mine"))


def test_a_description_that_was_never_trained_is_due() -> None:
    assert "description was never trained" in why_description_due(NOW, [])


def test_what_its_training_came_to_and_what_that_began_with_are_not_due() -> None:
    assert why_description_due(NOW, [TRAINED]) == ""
    assert why_description_due(NOW, [replace(TRAINED, descriptions=("mine", "refused"))]) == ""


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (replace(TRAINED, descriptions=("first", "second")), "its description was changed since it was trained"),
        (replace(TRAINED, target="codex 0"), "its description was trained for codex 0, now it is codex 1"),
        (replace(TRAINED, model="b-model"), "its description was written by b-model, now it is a-model"),
        (replace(TRAINED, siblings="others"), "descriptions of other skills changed since its own was trained"),
        (replace(TRAINED, requests="others"), "its trigger set changed since its description was trained"),
    ],
)
def test_a_description_is_due_when_what_its_training_rested_on_changed(changed: TriggerBasis, reason: str) -> None:
    assert why_description_due(NOW, [changed]) == reason
