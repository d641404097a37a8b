"""The reflection prompt, word for word, is the page that shows it."""

from pathlib import Path

from benchmarks.demo.prompts import read_prompt
from tools.example_prompt import make_prompt
from tools.generate_examples import EXAMPLES


def test_the_prompt_of_a_reflection_is_as_its_page_shows_it() -> None:
    (made,) = make_prompt(Path()).items()
    assert (EXAMPLES / made[0]).read_text(encoding="utf-8") == made[1], "run `python -m tools.generate_examples`"


def test_a_program_that_reads_prompts_finds_all_that_the_page_shows() -> None:
    page = make_prompt(Path())["reflection-prompt.md"]
    prompt = read_prompt(page.partition("````text\n")[2])
    assert (prompt.task, prompt.budget) == ("reflect on failures", 12)
    assert [task for task, _ in prompt.shown] == ["letter-03", "letter-04", "letter-09", "letter-11"]
    assert all("greeting" in text for _, text in prompt.shown[:3])
    assert [line.partition(" ")[0] for line in prompt.rejected] == ["add", "replace"]
    assert not any("Sign every letter" in line for line in prompt.rejected)
    assert prompt.memory == "Keep it short."
