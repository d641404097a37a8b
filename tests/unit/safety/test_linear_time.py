"""Every check of a text takes time in proportion to its length, whatever the text is made of."""

import time

import pytest

from skillopt.safety.lint import find_marks, lint_change
from skillopt.safety.text_classes import LintClass

FAMILIES = (
    *(
        "`",
        "~",
        "`~",
        "``` ",
        "<",
        "<a ",
        "<!--",
        "[",
        "](",
        "![",
        "[a](",
        "[a]: b\n",
        "*",
        "_",
        "*a_",
        "\\",
        "&",
        "&#0",
    ),
    *(
        "a.",
        "a@",
        "://",
        "//a.b",
        "1.",
        "-",
        "- ",
        "> ",
        "# ",
        "|",
        "| a",
        "\t",
        " x",
        "token=",
        "eyJ",
        "sk-",
        "=",
        "a b ",
    ),
    *(
        "do not ",
        "curl ",
        "\u200d",
        "\u00a0",
        "e\u0301",
        "👍",
        "if the user ",
        "ignore all ",
        "a\n",
        "\n\n",
        "<b>\n",
        "'\"a",
        "pip install a ",
        "npx -y ",
        "password a ",
        "10.2.3.",
        "$(a).b.",
        "tests that ",
        "approve all ",
        "copy expected ",
        "do not say it ",
    ),
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
    assert {one.kind for one in lint_change("", "`" * 150_000)} >= {LintClass.LONG_LINE}


def test_the_families_are_forty_or_more() -> None:
    assert len(set(FAMILIES)) >= 40
