"""Prompts from messages of merged changes: what was asked for stays, what gives the answer away goes and is shown."""

import pytest

from skillopt.contrib.history.change_prompts import draft_prompt
from skillopt.contrib.history.changed_lines import ChangedLines, read_patch, side_of

CODE = ChangedLines(
    "src/sums.py",
    ("def add_all(values):", "    return sum(values)"),
    (
        "def _without_blanks(values):",
        "    return [value for value in values if value.strip()]",
        "def add_all(values, skip_blanks=False):",
        '    """Return the sum of numbers.',
        "",
        "    Blank ones count as nothing.",
        '    """',
        "    values = _without_blanks(values)",
        '    raise ValueError("expected a number in each cell")',
        "LIMIT = 10",
    ),
)
TEST = ChangedLines(
    "tests/test_sums.py", (), ("from sums import LIMIT, add_all", "", 'assert add_all(["1"], skip_blanks=True)')
)
NEWS = ChangedLines("CHANGES.md", (), ("- Sums skip cells without anything in them (#12). Thanks to Ann!", "## 2.0"))


def drafted(*messages: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the paragraphs of a prompt, and what was left out."""
    found = draft_prompt(messages, (CODE, TEST))
    return found.text.split("\n\n")[:-1], found.left_out


def test_new_names_that_tests_need_are_said_and_the_bodies_are_not() -> None:
    paragraphs, _ = drafted("Let sums skip blank cells of a table")

    assert paragraphs == [
        "Let sums skip blank cells of a table",
        (
            "Tests use these, which are new or take other arguments than now:\n"
            "- `def add_all(values, skip_blanks=False)` in `src/sums.py`: Return the sum of numbers.\n"
            "- `LIMIT` in `src/sums.py`"
        ),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "The helper _without_blanks takes them out.",
        "Use a list without blanks.",
        "Adds tests for blanks.",
        "See src/sums.py for more of it.",
        "    return [value for value in values if value.strip()]",
        "The fix is to strip each one.",
    ],
)
def test_how_it_was_done_and_where_is_left_out_and_shown(sentence: str) -> None:
    paragraphs, left_out = drafted(f"Let sums skip blank cells of a table\n\nBlank cells broke a sum.\n\n{sentence}")

    assert paragraphs[:2] == ["Let sums skip blank cells of a table", "Blank cells broke a sum."]
    assert [part.strip() for part in left_out] == [sentence.strip()]


@pytest.mark.parametrize(
    ("message", "kept", "left_out"),
    [
        ("Skip blank cells of tables by stripping each value", "Skip blank cells of tables", "by stripping each value"),
        ("fix(sums): skip blank cells of tables (#12)", "skip blank cells of tables", ""),
        ("Skip blank cells of tables (fixes #3)\n\nReviewed-by: Ann\nChange-Id: I1", "Skip blank cells of tables", ""),
    ],
)
def test_a_title_is_what_is_wanted_without_the_means_and_numbers(message: str, kept: str, left_out: str) -> None:
    paragraphs, gone = drafted(message)

    assert (paragraphs[0], "".join(gone)) == (kept, left_out)


def test_a_patch_is_read_by_file_and_binary_files_are_passed_over() -> None:
    patch = (
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@ def f():\n-old\n+new\n+@@ not a hunk\n"
        "diff --git a/gone.py b/gone.py\ndeleted file mode 100644\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-all\n"
        "diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n"
    )
    assert read_patch(patch) == (
        ChangedLines("a.py", ("old",), ("new", "@@ not a hunk")),
        ChangedLines("gone.py", ("all",), ()),
    )


@pytest.mark.parametrize(
    ("path", "side"),
    [
        *(("pkg/test_a.py", "test"), ("a/b.spec.ts", "test"), ("src/test/java/ATest.java", "test"), ("setup.py", "")),
        *(("docs/a.py", ""), ("lib/a.go", "code"), ("NEWS.rst", "news"), ("newsfragments/12.bugfix.rst", "news")),
    ],
)
def test_files_are_told_apart_by_their_paths(path: str, side: str) -> None:
    assert side_of(path) == side
