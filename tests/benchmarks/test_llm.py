"""Skills trained for a real, small language model, and the table of what came of it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.llm.__main__ import main
from benchmarks.llm.houses import HOUSES, House
from benchmarks.llm.measuring import CONTEXTS, Measuring
from benchmarks.llm.rows import Row, draw_rows, read_rows, write_summary, write_table
from benchmarks.llm.server import serve
from skillopt.targets.openai import OpenAICompatibleModel
from tools.fetch_llm import MissingLlmError, find_llm

MODEL = "qwen-1.5b"
HOUSE = "tickets"


@pytest.fixture
def base_url() -> Iterator[str]:
    try:
        files = find_llm(MODEL)
    except MissingLlmError as missing:
        pytest.skip(str(missing))
    with serve(files, 0, CONTEXTS) as address:
        yield address


@pytest.mark.llm
@pytest.mark.timeout(1800)
def test_training_makes_a_real_model_pass_most_held_out_tasks(base_url: str, tmp_path: Path) -> None:
    measuring = Measuring(HOUSES[HOUSE], MODEL, base_url, tmp_path)
    rows = {row.contestant: row for row in (*measuring.fixed(), *measuring.trained(0))}
    print(write_table(list(rows.values())))  # noqa: T201 - the figures are what `make test-llm` is for

    assert rows["start"].passed < 0.3 * rows["start"].tasks
    assert rows["written by hand"].passed > 0.7 * rows["written by hand"].tasks
    assert rows["trained"].passed >= rows["start"].passed + 8


@pytest.mark.llm
def test_the_same_request_gets_the_same_answer_whatever_was_asked_before(base_url: str) -> None:
    model = OpenAICompatibleModel(MODEL, max_tokens=24, base_url=base_url)
    first, other, again = (model.reply(f"What is the capital of {place}?") for place in ("France", "Egypt", "France"))

    assert "Paris" in first.text
    assert first.text == again.text != other.text
    assert (first.usage.input_tokens, first.usage.calls) == (again.usage.input_tokens, 1)


def test_measuring_ends_with_2_without_a_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    assert main(["--measure", MODEL]) == 2
    assert capsys.readouterr() == ("", "expected Node.js 20 or newer on the PATH, found none; install it\n")


def test_the_table_has_each_recorded_row_and_the_picture_a_bar_for_each_mean(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows, picture = read_rows(), tmp_path / "rows.svg"

    assert main([]) == 0
    assert capsys.readouterr().out.endswith(f"{write_table(rows)}\n")
    assert main(["--measure", MODEL, "--picture", str(picture)]) == 0
    assert picture.read_text(encoding="utf-8") == draw_rows(rows, MODEL)
    two = [Row(MODEL, HOUSE, seed, "trained", passed, 20) for seed, passed in enumerate((10, 20))]
    assert ">15 of 20, mean of 2 seeds<" in draw_rows(two, MODEL)
    assert write_summary(two).splitlines()[-1] == f"| {MODEL} | {HOUSE} | 10, 20 |"


@pytest.mark.parametrize("house", HOUSES.values(), ids=HOUSES)
class TestHouse:
    def test_the_held_out_tasks_are_others_than_those_to_learn_from(self, house: House) -> None:
        prompts = [task.prompt for task in house.tasks()]

        assert len(set(prompts)) == 60

    def test_the_text_written_by_hand_has_every_code_and_the_start_text_has_none(self, house: House) -> None:
        secret = {code for codes in house.fields.values() for value, code in codes.items() if value != code}
        words = {kind: set(re.findall(r"`([^`]+)`", house.skill(kind).text)) for kind in ("start", "by_hand")}

        assert {code for code in secret if not code.count("_")} <= words["by_hand"]
        assert not secret & words["start"]
