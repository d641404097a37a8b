"""SKILL.md as bytes with structure."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from skillopt.skills.document import GUIDANCE, Skill, SkillDocument
from skillopt.tasks import File

PIECES = (
    *("---", "---\n", "--- \t\r\n", "name: x", "\n", "\r\n", "\r", "\ufeff", "# One\n", "## Two\r\n", "Title\n===\n"),
    *("- item", "  - nested\n", "1. first\n", "```\n", "~~~\n", "    code\n", "> quote\n", "<!-- skillopt:begin a -->"),
    *("<!--skillopt:end a-->", "<!-- skillopt:begin b -->\n", "<!-- skillopt:end b -->", "text é 漢 👍", "\u2028"),
    *("\x0b", "\x0c", "\x85", "\x00", "\udcff", " ", "\t"),
)
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=25).map("".join)
documents = texts.map(lambda text: SkillDocument.parse(text.encode("utf-8", "replace")))


@given(st.binary() | texts.map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"\xef\xbb\xbf---\r\nname: x\r\n---\r\nbody\r---\nno end")
@example(b"\xff\xfe---\x00\n\xed\xa0\x80")
def test_rendering_a_parsed_document_gives_back_any_bytes(source: bytes) -> None:
    assert SkillDocument.parse(source).render() == source


@pytest.mark.parametrize(
    ("text", "frontmatter", "body"),
    [
        ("---\nname: x\n---\nbody", "name: x\n", "body"),
        ("\ufeff---\r\nname: x\r\n---\r\nbody", "name: x\r\n", "body"),
        ("---\rname: x\r---\rbody", "name: x\r", "body"),
        ("---\nname: x\n---", "name: x\n", ""),
        ("---\nd: |\n  ---\nname: x\n---\na\n---\nb", "d: |\n  ---\nname: x\n", "a\n---\nb"),
        ("---\nname: x\n", None, "---\nname: x\n"),
        ("\n---\nname: x\n---\n", None, "\n---\nname: x\n---\n"),
        ("---\nname: x\n--- # no\n----\n", None, "---\nname: x\n--- # no\n----\n"),
        ("", None, ""),
    ],
)
def test_frontmatter_stands_between_the_first_two_fences(text: str, frontmatter: str | None, body: str) -> None:
    document = SkillDocument(text)

    assert (document.frontmatter, document.body) == (frontmatter, body)


@given(documents)
def test_sections_are_the_headings_that_markdown_sees(document: SkillDocument) -> None:
    lines = re.split(r"\r\n|\r|\n", document.body)
    tokens = MarkdownIt("commonmark").parse(document.body)
    heads = [
        (inline.content.strip(), int(token.tag[1:]), lines[token.map[0]])
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]

    found = [
        (section.title, section.level, re.split(r"[\r\n]", document.text[section.start : section.body])[0])
        for section in document.sections
    ]
    assert found == heads


@given(documents)
def test_blocks_are_exact_slices_that_markdown_sees_too(document: SkillDocument) -> None:
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", document.body)
    expected = []
    for token in MarkdownIt("commonmark").parse(document.body):
        if token.map and (token.type == "list_item_open" or (token.type == "paragraph_open" and token.level == 0)):
            start = document.body_start + sum(map(len, lines[: token.map[0]]))
            text = "".join(lines[token.map[0] : token.map[1]]).rstrip()
            end = start + len(text)
            if not any(region.start < end and start < region.end for region in document.regions):
                expected.append((start, end, text))

    assert [(block.start, block.end, block.text) for block in document.blocks] == expected
    assert all(document.text[block.start : block.end] == block.text for block in document.blocks)
    assert all(document.line_of(block.start) == block.line for block in document.blocks)


@given(documents)
def test_every_byte_from_a_begin_marker_to_its_end_is_protected(document: SkillDocument) -> None:
    for marker in re.finditer(r"<!--[ \t]*skillopt:begin[ \t]+([\w-]+)[ \t]*-->", document.text):
        if marker.start() < document.body_start:
            continue
        end = re.compile(rf"<!--[ \t]*skillopt:end[ \t]+{marker[1]}[ \t]*-->").search(document.text, marker.end())
        covering = [region for region in document.regions if region.start == marker.start()]
        assert len(covering) == 1
        assert covering[0].end >= (end.end() if end else len(document.text))
        assert covering[0].closed or covering[0].end == len(document.text)


@pytest.mark.parametrize(
    ("text", "protected"),
    [
        ("x<!-- skillopt:begin a -->in<!-- skillopt:end a -->y", ["in"]),
        ("<!-- skillopt:begin a -->never closed", ["never closed"]),
        ("<!-- skillopt:begin a -->x<!-- skillopt:end b -->y", ["x<!-- skillopt:end b -->y"]),
        ("<!-- skillopt:end a -->open", []),
        ("```\n<!-- skillopt:begin a -->code<!-- skillopt:end a -->\n```\n", ["code"]),
        (
            "<!--skillopt:begin a-->1<!--skillopt:begin b-->2<!--skillopt:end a-->3<!--skillopt:end b-->",
            ["1<!--skillopt:begin b-->2", "2<!--skillopt:end a-->3"],
        ),
        (
            "<!--skillopt:begin a-->1<!--skillopt:begin a-->2<!--skillopt:end a-->3<!--skillopt:end a-->4",
            ["1<!--skillopt:begin a-->2<!--skillopt:end a-->3", "2"],
        ),
    ],
    ids=["plain", "unclosed", "other end", "stray end", "in code", "crossing", "nested"],
)
def test_regions_protect_at_least_what_their_markers_enclose(text: str, protected: list[str]) -> None:
    document = SkillDocument(text)

    assert [document.text[slice(*region.inner)] for region in document.regions] == protected


def test_rewriting_a_region_leaves_all_other_text_alone() -> None:
    document = SkillDocument("# A\r\n<!-- skillopt:begin guidance -->old<!-- skillopt:end guidance -->\r\nafter")

    changed = document.with_region(GUIDANCE, "one\ntwo")

    assert changed.text == (
        "# A\r\n<!-- skillopt:begin guidance -->\r\none\r\ntwo\r\n<!-- skillopt:end guidance -->\r\nafter"
    )


def test_a_skill_is_identified_by_all_its_bytes() -> None:
    skill = Skill("x", SkillDocument("body"), (File("a", b"1"),))
    others = (
        skill.with_document(SkillDocument("body\n")),
        Skill("x", SkillDocument("body"), (File("a", b"2"),)),
        Skill("x", SkillDocument("body"), (File("b", b"1"),)),
        Skill("x", SkillDocument("body")),
    )

    assert len({skill.digest, *(other.digest for other in others)}) == 5
    assert Skill("renamed", SkillDocument("body"), (File("a", b"1"),)).digest == skill.digest
