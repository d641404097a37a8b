"""Rules that say the same in other words are told from other rules about the same things, as measured by pairs."""

import pytest

from skillopt.loop.memory import is_reworded
from tools.measure_refusals import PAIRS, demo_pairs, main, rates, read_pairs

FILES = sorted(PAIRS.glob("*.jsonl"))
"""Half of the first 120 pairs are of the author of the rule; `pairs-other` was written by somebody else, unseen."""

WRITTEN = [pair for path in FILES for pair in read_pairs(path)]


@pytest.mark.parametrize("pairs", [WRITTEN, demo_pairs()], ids=["written", "demo"])
def test_two_in_three_reworded_rules_are_caught_and_one_in_eight_other_rules_is_held_back_at_most(
    pairs: list[tuple[bool, str, str]],
) -> None:
    (caught, same), (held, different) = rates(pairs)
    assert same >= 30
    assert caught >= 2 / 3 * same
    assert held <= different / 8


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Convert every date to ISO form", "Dates: conversion to the ISO form"),
        ("Leave out fax numbers.", "Omit any fax numbers"),
    ],
)
def test_words_of_one_stem_in_another_order_are_the_same_rule(one: str, other: str) -> None:
    assert is_reworded(one, other)
    assert is_reworded(other, one)


@pytest.mark.parametrize("text", ["", "- ", "Do it."])
def test_a_text_of_no_words_of_its_own_is_like_none(text: str) -> None:
    assert not is_reworded(text, text)


def test_both_kinds_of_pairs_are_counted_for_each_file(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    assert capsys.readouterr().out.count("reworded refusals caught") == len(FILES) + 1
