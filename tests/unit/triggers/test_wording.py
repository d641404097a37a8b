"""Words of requests: which are copies of each other, and what a description copied from one."""

import pytest

from skillopt.triggers.queries import find_copied_words, request_key, request_words


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Merge it!", "merge it"),
        ("  MERGE\tit ", "merge it"),
        ("\uff4d\uff45\uff52\uff47\uff45 it", "merge it"),
        ("?!", "?!"),
        ("\u5408\u5e76\u8868\u683c", "\u5408 \u5e76 \u8868 \u683c"),
    ],
)
def test_a_request_is_identified_by_its_words(text: str, key: str) -> None:
    assert request_key(text) == key


CHINESE = "\u8bf7\u628a\u8fd9\u4e9b\u53d1\u7968\u5f55\u5165\u62a5\u9500\u5355\u91cc"
"""Twelve characters: please enter these invoices into the expense form."""


@pytest.mark.parametrize(
    ("text", "request_", "copied"),
    [
        (
            "Use to merge the two vendor tables by id.",
            "merge the two vendor tables by id",
            "merge the two vendor tables by",
        ),
        ("Use it: Drop empty rows.", "drop empty rows", "drop empty rows"),
        ("Cleans vendor tables.", "vendor tables", ""),
        ("Cleans all of the house tables.", "the house tables", ""),
        (f"Use for {CHINESE}.", CHINESE, " ".join(CHINESE)),
        (f"Use for {CHINESE[4:6]}.", CHINESE, ""),
        (f"Use for {CHINESE[:7]}.", CHINESE[:7], " ".join(CHINESE[:7])),
    ],
)
def test_a_description_that_copies_a_request_is_noticed(text: str, request_: str, copied: str) -> None:
    assert find_copied_words(text, "Cleans the house tables.", request_) == copied


def test_words_of_scripts_without_spaces_are_characters() -> None:
    assert request_words("PDF\u5408\u5e76 now") == ("pdf", "\u5408", "\u5e76", "now")
