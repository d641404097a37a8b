"""The lint of a change ends soon on text that is made to keep it busy, and misses nothing in it."""

import re

import pytest

from skillopt.safety import credentials, hidden_unicode, lint
from skillopt.safety.lint import lint_change
from skillopt.safety.text_classes import LintClass

BASE = "# Tidy\n\n- trim cells\n"


def kinds(before: str, after: str) -> set[LintClass]:
    return {finding.kind for finding in lint_change(before, after)}


REPEATED = (
    *(
        "<!--",
        "<!-- -->",
        "--!>",
        "<!a",
        "!`",
        "```!",
        "a",
        "a.",
        "://",
        "<a:",
        "-",
        "\u200b",
        "a\u200b",
        "[",
        "eyJ",
        "sk-",
    ),
    *(
        "token=",
        "-----BEGIN PRIVATE KEY-----",
        "&#x3c;",
        "\\",
        "@a.",
        "1.",
        "//a.b",
        "\U0001f3f4",
        "\r",
        "]:#",
        "\ufdfa",
    ),
    *("`", "~", "`~", "``` ", "\t", "&#0", "&#9", "0", "9", "```!\n", "`\n"),
)


@pytest.mark.parametrize("unit", REPEATED, ids=ascii)
@pytest.mark.slow
def test_hostile_repetition_ends(unit: str) -> None:
    # Quadratic matching would take minutes here.
    text = unit * (200_000 // len(unit))

    assert len(lint_change("", text)) <= 20


PATTERNS = {
    f"{module.__name__}.{name}": pattern
    for module in (lint, credentials, hidden_unicode)
    for name, value in vars(module).items()
    for pattern in (value.values() if isinstance(value, dict) else [value])
    if isinstance(pattern, re.Pattern)
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=list(PATTERNS))
@pytest.mark.parametrize("unit", ["`", "~ ", "<!--", "a.", "token=a"])
@pytest.mark.slow
def test_every_pattern_gets_through_a_long_hostile_text(pattern: re.Pattern[str], unit: str) -> None:
    text = unit * (200_000 // len(unit))

    assert sum(1 for _ in pattern.finditer(text)) <= len(text) + 1


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("````! ls\n```", "````! ls\n```"),
        ("~```!ls```", "```!ls```"),
        ("```~ \t! ls", "```~ \t! ls"),
        ("``` x ```! ls", "```! ls"),
    ],
)
def test_a_fence_of_commands_is_found_where_it_begins(text: str, block: str) -> None:
    assert [finding.excerpt for finding in lint_change("", text) if "commands run" in finding.message] == [repr(block)]


def test_blocks_of_commands_that_follow_each_other_without_a_gap_are_all_found() -> None:
    found = [one.excerpt for one in lint_change("", "```! ls``````! rm```") if "commands run" in one.message]

    assert found == [repr("```! ls```"), repr("```! rm```")]


def test_a_line_over_the_cap_is_refused_and_what_stands_in_it_is_found_all_the_same() -> None:
    for place in (0, 9_990, 18_995, 39_000):
        line = f"{'a ' * (place // 2)}see https://evil.test/x {'b ' * ((40_000 - place) // 2)}"
        found = lint_change(BASE, f"{BASE}{line}\n")

        assert {finding.kind for finding in found} == {LintClass.LONG_LINE, LintClass.URL}
        assert any(finding.excerpt == repr("https://evil.test/x") for finding in found)
    messages = [finding.message for finding in found if finding.kind is LintClass.LONG_LINE]
    assert messages[0].startswith("line 4 adds a line of 40,024 characters 'a a ")
    assert messages[0].endswith("; break it into lines of at most 10,000, or allow the class 'long-line'")


def test_a_long_line_that_was_there_is_not_new_and_one_that_is_allowed_may_be_added() -> None:
    line = "word " * 3_000

    assert lint_change(BASE + line, f"{BASE}{line}\n- more\n") == ()
    assert lint_change(BASE, BASE + line, frozenset({LintClass.LONG_LINE})) == ()
    assert lint_change(BASE, BASE + line[:10_000]) == ()


@pytest.mark.parametrize("number", ["0" * 5_000 + "58", "0000058"])
def test_a_character_written_as_a_long_number_is_read(number: str) -> None:
    assert kinds(BASE, f"{BASE}https&#{number};//evil.test\n") == {LintClass.URL}


def test_a_number_that_no_character_has_is_no_error() -> None:
    assert kinds(BASE, f"{BASE}&#{'9' * 5_000};\n") == set()
