"""The files of a large folder that SKILL.md names are selected, and nothing that is over the limits."""

import pytest

from skillopt.skills.folder import select_referred


def selected(texts: dict[str, str], files: int = 100, size: int = 1_000_000) -> set[str]:
    sizes = {path: len(text) for path, text in texts.items()}
    return set(select_referred("SKILL.md", sizes, texts.__getitem__, files, size)) - {"SKILL.md"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Read [the guide](docs/guide.md#part).", {"docs/guide.md", "docs/more.md"}),
        ("Run `./scripts/run.py --all`.", {"scripts/run.py"}),
        ('Run "scripts/run.py": it counts.', {"scripts/run.py"}),
        ("See docs/more.md!", {"docs/more.md"}),
        ("A [file](with%20space.md)", {"with space.md"}),
        ("All of scripts/ is for you.", {"scripts/run.py", "scripts/sub/b.py"}),
        ("The scripts are for you.", set()),
        ("../docs/more.md is elsewhere, https://x/docs/more.md is too", set()),
        ("nothing", set()),
    ],
)
def test_what_the_text_names_ships_with_what_that_names_in_turn(text: str, found: set[str]) -> None:
    others = {
        "docs/guide.md": "more.md and ../SKILL.md",
        "docs/more.md": "",
        "scripts/run.py": "docs/more.md",
        "scripts/sub/b.py": "",
        "with space.md": "",
        "unnamed.bin": "",
    }

    assert selected({"SKILL.md": text, **others}) == found


def test_what_is_over_a_limit_is_passed_over() -> None:
    texts = {"SKILL.md": "a.md b.md c.md", "a.md": "x" * 50, "b.md": "", "c.md": ""}

    assert selected(texts, size=40) == {"b.md", "c.md"}
    assert selected(texts, files=2) == {"a.md"}
