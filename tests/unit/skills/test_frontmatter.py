"""Frontmatter read safely, with lines."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillopt.errors import SkillError
from skillopt.skills.document import SkillDocument
from skillopt.skills.frontmatter import (
    MAX_FRONTMATTER_BYTES,
    Frontmatter,
    read_frontmatter,
    read_leniently,
)
from skillopt.skills.plain_yaml import MAX_YAML_DEPTH


def read(yaml: str, *, newline: str = "\n") -> Frontmatter | None:
    return read_frontmatter(SkillDocument(f"---\n{yaml}\n---\nbody\n".replace("\n", newline)))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_fields_come_with_their_type_and_their_line_in_the_file(newline: str) -> None:
    found = read(
        "# a comment\nname: tidy\ndescription: >\n  Cleans\n  tables.\nmetadata:\n  version: '1.0'\n  n: 2\n"
        "flag: true\nlist: [a, 1.5]\nempty:\nday: 2026-01-02\nbig: 1e999",
        newline=newline,
    )

    assert found is not None
    assert found.values == {
        "name": "tidy",
        "description": "Cleans tables.\n",
        "metadata": {"version": "1.0", "n": 2},
        "flag": True,
        "list": ["a", 1.5],
        "empty": None,
        "day": "2026-01-02",
        "big": "1e999",
    }
    assert [found.line_of(name) for name in found.values] == [3, 4, 7, 10, 11, 12, 13, 14]
    assert (found.line_of("metadata", "version"), found.line_of("metadata", "n")) == (8, 9)


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("name: x\nd: !!python/object/apply:os.system [ls]", r":3: .* YAML tag .*python.* remove it"),
        *(("name: x\nd: ! y", r":3: .* YAML tag '!'"), ("name: x\nd: &a [1]", r":3: .* anchor or alias")),
        ("name: x\nd: *a", r":3: .* anchor or alias"),
        ("a: 1\n<<: {b: 2}", r":3: .* a key that is text, found '<<'"),
        ("a: 1\n? [x]\n: 2", r":3: .* a key that is text"),
        ("a: 1\nb: 2\na: 3", r":4: .* 'a' again \(first on line 2\); remove one"),
        ("m:\n  a: 1\n  a: 2", r":4: .* 'a' again \(first on line 3\)"),
        ("a: " + "[" * (MAX_YAML_DEPTH + 1), rf":2: .* at most {MAX_YAML_DEPTH} levels"),
        *(("- a\n- b", r":2: .* found a list"), ("just text", r":2: .* found 'just text'")),
        ("a: 1\nd: Use when: asked", r":3: .* put a value that contains ': ' in quotes"),
        ("a: 1\n\tb: 2", r":[23]: expected YAML, found: .*; .* in quotes"),
        ("a: 1\nb: [", r":3: expected YAML, found: .*; .* in quotes"),
        ("a: 1\n...\nb: 2", r":4: expected YAML, found: .*; .* in quotes"),
        ("a: 1\nb: \x00", r":3: .* character '\\x00'; remove it"),
        ("a: 1\nb: \udcff", r":3: .* save the file as UTF-8"),
        ("a: " + "9" * 5000, r":2: .* 5000 digits; put them in quotes"),
        ("a: " + "x" * MAX_FRONTMATTER_BYTES, rf":1: .* at most {MAX_FRONTMATTER_BYTES} bytes"),
    ],
)
def test_what_is_unsafe_or_broken_is_refused_with_its_line_and_a_remedy(yaml: str, message: str) -> None:
    with pytest.raises(SkillError, match=r"\ASKILL\.md" + message):
        read(yaml)


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!#|>'\"%@`?,.\\ \t\n\r\u2028\x85\x00\udc80=<~0x1_é"), max_size=40))
@example("x: =")
@example("x: ._")
@example("x: 0b" + "1" * 9000)
@example("{" * 30_000)
@example("? " * 5_000)
def test_any_text_is_read_or_refused_with_a_line(yaml: str) -> None:
    document = SkillDocument(f"---\n{yaml}\n---\n")
    lines = len(document.line_starts) - 1
    try:
        found = read_frontmatter(document)
    except SkillError as error:
        name, line, _ = str(error).split(":", 2)
        assert name == "SKILL.md"
        assert 1 <= int(line) <= lines
    else:
        assert found is None or all(1 < found.line_of(name) <= lines for name in found.values)


@pytest.mark.parametrize(
    ("yaml", "name", "description"),
    [
        ("name: tone\ndescription: Use when: asked, or not", "tone", "Use when: asked, or not"),
        *(('name: "x"\ndescription: @you', "x", "@you"), ("name: x\nname: y\ndescription: d", "x", "d")),
        *(("name: x\ndescription: plain", "x", "plain"), ("[", None, None)),
    ],
)
def test_a_broken_frontmatter_is_read_line_by_line(yaml: str, name: str | None, description: str | None) -> None:
    found = read_leniently(SkillDocument(f"---\n{yaml}\n---\nbody\n"))

    assert (found.text("name"), found.text("description")) == (name, description)
