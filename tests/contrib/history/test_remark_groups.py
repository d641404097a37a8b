"""Groups of remarks: one rule that several people say in their own words, in any language."""

import random
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.contrib.history.remark_groups import rule_groups, shared_words

PRINT = ["Please use the logger instead of print.", "nit: logger rather than print here", "print again? Use the logger"]
WITH = ["Open the file in a with block please", "a with block for this file, please", "no with block around the file"]
CHINESE = ["请使用日志而不是打印语句", "这里请使用日志不要打印语句", "请使用日志代替打印语句"]
OTHERS = [
    "Why is the account group needed here?",
    "Are we sure that the account has an owner at this point?",
    "The owner of the group may be gone by then, see the other change.",
    "LGTM",
    "",
    "```python\nprint(1)\n```",
    "> Use the logger instead of print",
    "see https://example.com/print/logger",
]


def grouped(*texts: str) -> list[set[str]]:
    return [{texts[at] for at in group} for group in rule_groups(texts, range(len(texts)))]


def test_a_rule_in_several_wordings_and_languages_is_one_group_and_what_only_shares_a_topic_is_none() -> None:
    assert sorted(map(sorted, grouped(*OTHERS, *PRINT, *WITH, *CHINESE))) == sorted(map(sorted, (PRINT, WITH, CHINESE)))


def test_what_was_said_twice_or_in_one_pull_request_only_is_no_rule() -> None:
    assert grouped(*PRINT[:2]) == []
    assert rule_groups(PRINT, [1, 1, 1]) == []


def test_the_order_of_remarks_changes_no_group() -> None:
    texts = [*OTHERS, *PRINT, *WITH, *CHINESE]
    for seed in range(5):
        shuffled = random.Random(seed).sample(texts, len(texts))
        assert sorted(map(sorted, grouped(*shuffled))) == sorted(map(sorted, grouped(*texts)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=12))
def test_any_text_is_grouped_without_an_error_and_no_remark_is_in_two_groups(texts: list[str]) -> None:
    found = [at for group in rule_groups(texts, range(len(texts))) for at in group]
    assert len(found) == len(set(found))


def test_the_words_of_a_rule_are_those_that_two_remarks_share() -> None:
    assert {"logger", "print"} <= shared_words(PRINT)
    assert "block" not in shared_words([*PRINT, WITH[0]])


def test_of_remarks_written_by_hand_nine_groups_in_ten_are_one_rule() -> None:
    lines = Path(__file__).with_name("written_remarks.txt").read_text(encoding="utf-8").splitlines()[1:]
    rules, texts = zip(*(line.split(" | ", 1) for line in lines), strict=True)
    groups = [Counter(rules[at] for at in group) for group in rule_groups(texts, range(len(texts)))]
    right = [group for group in groups if group.most_common(1)[0][1] >= 0.75 * group.total()]
    assert len(texts) == 420
    assert len(groups) >= 40
    assert len(right) >= 0.9 * len(groups)
