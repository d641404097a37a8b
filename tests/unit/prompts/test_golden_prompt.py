"""The reflection prompt, word for word, is the page that shows it."""

from pathlib import Path

from tools.example_prompt import make_prompt
from tools.generate_examples import EXAMPLES


def test_the_prompt_of_a_reflection_is_as_its_page_shows_it() -> None:
    (made,) = make_prompt(Path()).items()
    assert (EXAMPLES / made[0]).read_text(encoding="utf-8") == made[1], "run `python -m tools.generate_examples`"
