"""Characters that a person does not see."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.safety.disguised_text import hidden_runs, without_hidden


@given(st.text(alphabet=st.sampled_from("ab \u200b\u200d\ufe0f👍❤1\u20e3\U000e0061\x00é漢"), max_size=30))
def test_runs_are_what_a_text_without_hidden_characters_lacks(text: str) -> None:
    runs = list(hidden_runs(text))

    assert all(text[run.start : run.start + len(run.text)] == run.text for run in runs)
    assert len(without_hidden(text)) + sum(len(run.text) for run in runs) == len(text)


@pytest.mark.parametrize("category", ["Cf", "Cc", "Co", "Zl", "Zp"])
def test_every_character_of_a_hidden_category_is_found_between_letters(category: str) -> None:
    drawn = "\t\n\r\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    characters = [chr(point) for point in range(0x110000) if unicodedata.category(chr(point)) == category][:3000]

    assert characters
    assert [character for character in characters if not list(hidden_runs(f"a{character}b"))] == [
        character for character in characters if character in drawn
    ]


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_letters_numbers_punctuation_and_symbols_are_seen(text: str) -> None:
    blank = "\u115f\u1160\u2800\u3164\uffa0\ufffc\U0001d159"

    assert {run.text[0] for run in hidden_runs(text)} <= set(blank)


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("a\u200bb", "U+200B ZERO WIDTH SPACE"),
        ("\u202e\u2066\u2069", "U+202E RIGHT-TO-LEFT OVERRIDE, U+2066 LEFT-TO-RIGHT ISOLATE and 1 more"),
        (
            "\U000e0068\U000e0069",
            "U+E0068 TAG LATIN SMALL LETTER H, U+E0069 TAG LATIN SMALL LETTER I, which spells 'hi'",
        ),
        ("👍\U000e0158\U000e0159", "U+E0158 VARIATION SELECTOR-105, U+E0159 VARIATION SELECTOR-106, which spells 'hi'"),
        ("\x1b", "U+001B without a name"),
    ],
)
def test_a_run_says_what_it_is_and_what_it_spells(text: str, description: str) -> None:
    assert [run.description for run in hidden_runs(text)] == [description]
