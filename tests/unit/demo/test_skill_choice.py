"""The demo's choice of a skill: most words in common, two at least, and none of what a description excludes."""

import pytest

from benchmarks.demo.skill_choice import choose_skill, propose_description

LISTED = (
    ("expense-claims", "Prepares claims of business trips: hotel, meals. Not for booking a room."),
    ("sales", "Summarises sales by region."),
)


@pytest.mark.parametrize(
    ("request_", "chosen"),
    [
        ("Claim the hotel of my trip.", "expense-claims"),
        ("Summarise sales of the region.", "sales"),
        ("Find a hotel.", ""),
        ("Book a hotel room for my trip.", ""),
    ],
)
def test_the_skill_with_most_words_of_the_request_is_loaded(request_: str, chosen: str) -> None:
    assert choose_skill(request_, LISTED) == chosen


def test_a_proposal_has_the_words_that_were_missed_and_excludes_those_of_false_triggers() -> None:
    text = propose_description("Cleans tables", ["Sort my orders"], ["Draw a map"], ["Clean this table"])
    assert "tables. Use for sort" in text
