"""The lint of a change ends soon on text that is made to keep it busy, and misses nothing in it."""

import time

import pytest

from skillopt.safety.lint import find_marks, lint_change
from skillopt.safety.text_classes import LintClass

BASE = "# Tidy\n\n- trim cells\n"


def kinds(before: str, after: str) -> set[LintClass]:
    return {finding.kind for finding in (*lint_change(before, after), *find_marks(before, after))}


FAMILIES = (
    *("`", "~", "`~", "``` ", "<", "<a ", "<!--", "[", "](", "![", "[a]: b\n", "*a_", "\\", "&#0", "a.", "a@"),
    *("://", "1.", "- ", "> ", "| a", "\t", "token=", "eyJ", "sk-", "a b ", "\u200d", "\xa0", "e\u0301", "👍"),
    *("\n\n", "<b>\n", "'\"a", "curl ", "password a ", "10.2.3.", "$(a).b.", "```!\n"),
    *("-----BEGIN PRIVATE KEY-----", "![[](", "if `a` Ab ", "a/_1-"),
)
LENGTH = 2_500
"""Characters of the shorter text: an edit may have 20,000."""

MOST = 12
"""Times longer that a text of four times the length may take. Quadratic matching takes 16 times as long, and more."""


def seconds(text: str) -> float:
    """Take the least processor time of three, each with another end, so that nothing is remembered."""
    taken = []
    for attempt in range(3):
        start = time.process_time()
        lint_change("", f"{text}{attempt}")
        find_marks("", f"{text}{attempt}")
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.slow
@pytest.mark.parametrize("unit", FAMILIES, ids=ascii)
def test_four_times_the_text_takes_no_more_than_its_share(unit: str) -> None:
    short, long = (unit * (length // len(unit)) for length in (LENGTH, 4 * LENGTH))

    assert seconds(long) < MOST * max(seconds(short), 0.002)


def test_a_line_of_150_000_backticks_is_refused_for_its_length() -> None:
    assert kinds("", "`" * 150_000) >= {LintClass.LONG_LINE}


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


def test_a_line_over_the_cap_is_refused_and_what_stands_in_it_is_found_all_the_same() -> None:
    for place in (0, 9_990, 18_995, 39_000):
        line = f"{'a ' * (place // 2)}see <!-- x --> {'b ' * ((40_000 - place) // 2)}"
        found = lint_change(BASE, f"{BASE}{line}\n")

        assert {finding.kind for finding in found} == {LintClass.LONG_LINE, LintClass.HTML_COMMENT}
        assert any(finding.excerpt == repr("<!-- x -->") for finding in found)
    messages = [finding.message for finding in found if finding.kind is LintClass.LONG_LINE]
    assert messages[0].startswith("line 4 adds a line of 40,015 characters 'a a ")
    assert messages[0].endswith("; break it into lines of at most 10,000, or allow the class 'long-line'")


def test_a_long_line_that_was_there_is_not_new_and_one_that_is_allowed_may_be_added() -> None:
    line = "word " * 3_000

    assert lint_change(BASE + line, f"{BASE}{line}\n- more\n") == ()
    assert lint_change(BASE, BASE + line, frozenset({LintClass.LONG_LINE})) == ()
    assert lint_change(BASE, BASE + line[:10_000]) == ()


@pytest.mark.parametrize("number", ["0" * 5_000 + "58", "0000058"])
def test_a_character_written_as_a_long_number_is_read(number: str) -> None:
    assert kinds(BASE, f"{BASE}https&#{number};//evil.test\n") == {LintClass.URL}
    assert kinds(BASE, f"{BASE}&#{'9' * 5_000};\n") == set()
