"""The pages are plain: no sentence is long, and none is a riddle that readers stumbled over."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
GENERATED = {"commands.md", "settings.md"}

PAGES = [
    *(CHECKOUT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *(page for page in sorted((CHECKOUT / "docs").glob("*.md")) if page.name not in GENERATED),
    *sorted((CHECKOUT / "benchmarks").glob("*/README.md")),
]
MOST_WORDS = 35
RIDDLES = (
    *("what nothing needs", "nothing is left to learn", "of which half are", "in half of the runs", "told from"),
    *(
        "move[ds]? on",
        "ha[ds] luck",
        "had some luck",
        "by your word",
        "person's word",
        "judge each other",
        "swap roles",
    ),
    *("pass anyway", "it would take", "limits of a gain", "bets? on the mean", "given up early", "spend it twice"),
    *("who gives no", "gets them planned", "changed sides", "for free", "elimination", "cannot be parted"),
    *("comes out better", "chosen for its score", "by its first look", "however often one looks", "each no"),
    *("another thing is wrong", "as it lies there", "ways in which chance", "say of them(?:selves)? that"),
)
"""Phrases that were ours before the field's words were; each has a plain word (ablation, power, cached, …)."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a page's prose, without code, tables, headings and generated parts."""
    text = re.sub(r"<!-- ([\w ]+) -->.*?<!-- end of \1 -->|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^ *(```+).*?^ *\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(\||#| {4}).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "code", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    blocks = re.split(r"\n\s*\n|^ *(?:[-*]|\d+\.) +", text, flags=re.MULTILINE)
    return [one for block in blocks for one in re.split(r"(?<=[.!?])[\"')*]*\s+", " ".join(block.split())) if one]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_no_sentence_of_a_page_is_long_or_a_riddle(page: Path) -> None:
    said = sentences(page.read_text(encoding="utf-8"))
    assert [one for one in said if len(one.split()) > MOST_WORDS] == []
    assert [(riddle, one) for one in said for riddle in RIDDLES if re.search(rf"\b{riddle}\b", one.lower())] == []


def test_sentences_are_those_of_prose() -> None:
    page = "# Title\n\nOne `a b c` is. Two\nlines!\n\n| a | b |\n\n```text\nnot this\n```\n- [Item](x.md): yes.\n- Last"
    assert sentences(page) == ["One code is.", "Two lines!", "Item: yes.", "Last"]
