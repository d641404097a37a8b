"""The published benchmarks: scores by their rules, files, memory, and a run, on made-up data of the same shape."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.published import oracle
from benchmarks.published.__main__ import main
from benchmarks.published.ace import FINER, FORMULA
from benchmarks.published.benchmark import Benchmark, Item, Reading, keep
from benchmarks.published.bfcl import BFCL
from benchmarks.published.catalogue import BENCHMARKS
from benchmarks.published.oracle import check
from benchmarks.published.results import ResultsFile, numbers_of
from benchmarks.published.run import Measured, Plan, measure
from benchmarks.published.sources import find
from skillopt import load_skill
from skillopt.errors import InfrastructureError, UsageError
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Trajectory, Usage
from skillopt.skills.validation import check_trainable
from skillopt.tasks import Split
from skillopt.testing import ScriptedHarness, ScriptedModel

PUBLISHED = Path(__file__).parents[2] / "benchmarks" / "published"


@pytest.mark.parametrize(
    ("benchmark", "answer", "expected", "score"),
    [
        (FORMULA, '{"final_answer": "1,200.0"}', "1200.0", 1),
        (FORMULA, "It is Finish[15]", "15.0", 1),
        (FORMULA, "8.33", "8.33", 0),
        (FINER, '{"final_answer": "revenues, DebtX,Cash"}', "Revenues,Debt,Cash", 2 / 3),
    ],
)
def test_an_answer_is_scored_by_its_rules(benchmark: Benchmark, answer: str, expected: str, score: float) -> None:
    assert benchmark.score(answer, expected) == pytest.approx(score)


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def write_ace(folder: Path, benchmark: Benchmark = FORMULA) -> None:
    for at, name in enumerate(benchmark.source.files):
        said = 'Use formula Margin to answer. Question:  "Income {}, revenue 10?". Answer:'
        lines = ({"context": said.format(f"{at}{number}"), "target": f"{at}{number}.5"} for number in range(24))
        write(folder, name, "".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("benchmark", [FORMULA, FINER])
def test_a_benchmark_of_the_published_shape_is_read_and_passes_its_oracle(tmp_path: Path, benchmark: Benchmark) -> None:
    write_ace(tmp_path, benchmark)  # a workflow tries the others on their real files every night
    row = check(benchmark, tmp_path)
    assert (row.gold, row.nothing, row.wrong, row.kept) == (row.read, 0, 0, row.read)
    assert all(row.sizes)


def test_what_cannot_be_a_task_is_left_out_with_the_reason() -> None:
    benchmark = BENCHMARKS["formula"]
    good = Item("a", Split.TEST, "how much", "1.0", "Finish[1]", "Finish[2]", "1")
    twin = Item("b", Split.TRAIN, "How  much", "1.0", "Finish[1]", "Finish[2]", "1")
    broken = Item("c", Split.VAL, "what", "1.0", "Finish[3]", "Finish[2]", "1")
    lenient = Item("d", Split.VAL, "who", "1.0", "Finish[1]", "Finish[1.0]", "1")
    kept = keep(benchmark, Reading((twin, good, broken, lenient)))
    assert kept.items == (good,)
    reasons = {"b": "same prompt as a", "c": "its gold answer fails", "d": "a changed gold answer passes"}
    assert {one.id: one.reason for one in kept.left_out} == reasons


def test_a_wheel_that_is_there_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(InfrastructureError, match=r"bfcl-eval==2026\.3\.23.*network"):
        find(BFCL.source, cache=tmp_path)
    (tmp_path / "bfcl-eval-2026.3.23").mkdir()
    with pytest.raises(UsageError, match="missing"):
        find(BFCL.source, cache=tmp_path)


def rule_follower(request: RolloutRequest, workspace: str) -> Trajectory:  # noqa: ARG001 - only the answer counts
    """Answer right where the skill says how, and every third time anyway."""
    expected = json.loads(request.task.verifier.options)["expected"]
    knows = "Divide." in (request.skill.text if request.skill else "") or int(expected[1]) % 3 == 0
    return Trajectory(answer=f"Finish[{expected if knows else 'no'}]", usage=Usage(1, 10, 1, 0.001))


def trained(reading: Reading, store: Path, harness: ScriptedHarness, usd: float = 5.0) -> Measured:
    edit = {"op": "add", "section": "Rules", "content": "- Divide.", "tasks": ["formula-train-1", "formula-train-2"]}
    model = ScriptedModel(lambda _: json.dumps({"diagnosis": "x", "edits": [edit], "order": []}))
    return measure(FORMULA, reading, Plan(harness, model, load_skill(PUBLISHED / "starts/formula"), store, max_usd=usd))


def test_a_run_measures_three_texts_beside_nothing_and_memory_and_goes_on_for_free(tmp_path: Path) -> None:
    write_ace(tmp_path)
    reading = keep(FORMULA, FORMULA.read(tmp_path))
    first, again = ScriptedHarness(rule_follower), ScriptedHarness(rule_follower)
    found = trained(reading, tmp_path / "store", first)
    by_name = {row.name: row for row in found.rows}
    assert list(by_name) == ["nothing", "memory", "no skill", "start", "trained"]
    assert by_name["nothing"].passed == 0
    assert by_name["no skill"].passed == by_name["start"].passed < by_name["trained"].passed == 24
    assert by_name["start"].low < by_name["start"].passed / 24 < by_name["start"].high
    assert by_name["start"].usd == pytest.approx(0.024)
    resumed = trained(reading, tmp_path / "store", again)
    assert not again.requests
    assert (resumed.rows, resumed.spent, resumed.trained) == (found.rows, found.spent, found.trained)
    with pytest.raises(UsageError, match="--max-usd or lower --tasks"):
        trained(reading, tmp_path, ScriptedHarness(rule_follower), usd=0.05)


def test_a_part_of_a_benchmark_is_tried_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_ace(tmp_path)
    assert (check(FORMULA, tmp_path).kept, check(FORMULA, tmp_path, 5).kept) == (72, 15)
    assert oracle.main(["formula", "--from", f"formula={tmp_path}"]) == 1
    assert "another digest" in capsys.readouterr().err


def test_arithmetic_in_answers_is_worked_out_for_small_constants_and_nothing_is_evaluated() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(PUBLISHED / 'official')!r}); import ast, serve; print(serve._worked_out"
    )
    for text, said in (("1 + 2 * 3", "7"), ("[-1] + [2]", "[-1, 2]"), ("9**9**9", "ValueError"), ("exit()", "ValueE")):
        code = f"{script}(ast.parse({text!r}, mode='eval').body))"
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert said in ended.stdout + ended.stderr


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_benchmark_has_a_start_text_that_can_be_trained_and_numbers_with_their_source(name: str) -> None:
    for start in (PUBLISHED / "starts").glob(f"{name}*"):
        check_trainable(load_skill(start))
    note, rows = numbers_of(name)
    assert note
    assert all(row.paper and row.table for row in rows)


def test_results_that_are_kept_are_what_the_command_writes() -> None:
    kept = [ResultsFile.model_validate_json(path.read_bytes()) for path in (PUBLISHED / "results").glob("*.json")]
    assert {one.benchmark for one in kept} == {"formula"}


def test_the_command_lists_benchmarks_and_asks_for_a_cap(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["benchmarks"]] == list(BENCHMARKS)
    assert main(["formula", "--model", "openai/x"]) == 2
    assert "add --max-usd" in capsys.readouterr().err
    assert main(["formula", "--model", "handoff", "--max-rollouts", "9"]) == 2
    assert "expected --by WHO" in capsys.readouterr().err
